// SPDX-License-Identifier: Apache-2.0
// Checksums of a token file, in words of llm.c's header that its readers leave alone: one for each
// block of the tokens, so that whoever reads a window looks at its blocks alone, each once. Word 3
// says that there are any, word 4 how long a block is; the others have the low halves of XXH3.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

using TokenHeader = std::array<int32_t, 256>;

void add_block_sums(TokenHeader& header, std::span<const std::byte> tokens);

class BlockSums {
 public:
  // Nothing where the header has none. `tokens` must outlive it.
  static std::optional<BlockSums> find(const TokenHeader& header,
                                       std::span<const std::byte> tokens);

  // Bytes [begin, end) of the tokens; a UserError, with the file, where they are not as written.
  void require(size_t begin, size_t end, const std::filesystem::path& file) const;

 private:
  BlockSums() = default;

  std::span<const std::byte> tokens_;
  size_t block_bytes_ = 0;
  std::vector<uint32_t> sums_;
  std::unique_ptr<std::atomic<bool>[]> known_;  // whose sum was right
};

}  // namespace tessera
