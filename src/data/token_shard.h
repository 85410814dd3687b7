// SPDX-License-Identifier: Apache-2.0
// One .bin file of tokens, mapped: in Megatron's format if there is an .idx file next to it, else
// in llm.c's: 256 int32 header words (magic, version, token count), then the tokens. Magic 20240520
// holds uint16 in version 1 and uint32 in version 2; llm.c's Llama 3 shards, 20240801 version 7,
// too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "data/block_sums.h"
#include "data/megatron_index.h"
#include "files/mapped_file.h"

namespace tessera {

class TokenShard {
 public:
  explicit TokenShard(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  int64_t num_tokens() const { return num_tokens_; }
  int64_t token_at(int64_t position) const;
  // Tokens [begin, end): a UserError where the file has checksums and the tokens are not as they
  // were written. From any thread.
  void require_intact(int64_t begin, int64_t end) const;
  bool knows_documents() const { return index_.has_value(); }
  // Sets `opens_document[i]` to 1 where a document begins at token begin + i, and leaves the rest.
  void mark_documents(int64_t begin, std::span<uint8_t> opens_document) const;

 private:
  void read_llm_c();
  void read_megatron();

  MappedFile file_;
  std::optional<MegatronIndex> index_;
  std::optional<BlockSums> sums_;
  int64_t header_bytes_ = 0, token_bytes_ = 0, num_tokens_ = 0;
  bool is_signed_ = false;
};

// Writes one .bin file of tokens in llm.c's format: uint16 if the vocabulary allows it, else
// uint32; with checksums. It appears complete or not at all.
void write_token_shard(const std::filesystem::path& path, std::span<const int32_t> tokens,
                       int64_t vocabulary);

}  // namespace tessera
