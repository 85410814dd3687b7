// SPDX-License-Identifier: Apache-2.0
// Token shards in the llm.c layout: 256 int32 header words (magic, version, token count), then the
// tokens. Magic 20240520 holds uint16 in version 1 and uint32 in version 2; llm.c's Llama 3 shards,
// magic 20240801 version 7, hold uint32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files/mapped_file.h"
#include "train/data/token_source.h"

namespace tessera {

struct BinSourceOptions {
  std::string pattern;     // a file, or a glob such as data/train_*.bin, taken in sorted order
  int64_t vocabulary = 0;  // of the model; a token not below it is an error when read
  std::optional<int32_t> document_end;  // the token after which a new document begins
};

class BinSource : public TokenSource {
 public:
  explicit BinSource(BinSourceOptions options);

  int64_t num_tokens() const override { return begins_.back(); }
  int64_t vocabulary_size() const override { return options_.vocabulary; }
  void read(int64_t begin, std::span<int32_t> tokens,
            std::span<uint8_t> opens_document) const override;

 private:
  struct Shard {
    MappedFile file;
    int64_t token_bytes;  // 2 or 4
  };
  uint32_t token_at(size_t shard, int64_t offset) const;
  size_t shard_of(int64_t position) const;

  BinSourceOptions options_;
  std::vector<Shard> shards_;
  std::vector<int64_t> begins_{0};  // of each shard, then the end of the last
};

}  // namespace tessera
