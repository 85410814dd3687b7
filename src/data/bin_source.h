// SPDX-License-Identifier: Apache-2.0
// Token shards as one sequence. Documents begin where a shard's index says so; in shards without an
// index, after every end token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/token_shard.h"
#include "data/token_source.h"

namespace tessera {

struct BinSourceOptions {
  // A file, or a glob such as data/train_*.bin, taken in sorted order; empty: no shard yet.
  std::string pattern;
  int64_t vocabulary = 0;               // of the model; a larger token is an error when it is read
  std::optional<int32_t> document_end;  // the token after which a new document begins
};

class BinSource : public TokenSource {
 public:
  explicit BinSource(BinSourceOptions options);
  // After the other shards; by no thread while another reads.
  void add_shard(const std::filesystem::path& path);

  int64_t num_tokens() const override { return begins_.back(); }
  int64_t vocabulary_size() const override { return options_.vocabulary; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;

 private:
  size_t shard_of(int64_t position) const;
  bool ends_document(int64_t position) const;
  void read_shard(size_t shard, int64_t offset, std::span<int32_t> tokens) const;
  void mark_documents(size_t shard, int64_t begin, std::span<uint8_t> opens_document) const;

  BinSourceOptions options_;
  std::vector<TokenShard> shards_;
  std::vector<int64_t> begins_{0};  // of each shard, then the end of the last
};

}  // namespace tessera
