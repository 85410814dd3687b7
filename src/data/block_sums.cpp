// SPDX-License-Identifier: Apache-2.0
#include "data/block_sums.h"

#include <algorithm>

#include "core/error.h"
#include "files/digest.h"

namespace tessera {
namespace {

constexpr int32_t kMark = 0x4D555354;  // "TSUM"
constexpr size_t kMarkWord = 3, kSizeWord = 4, kFirstSum = 5;
constexpr size_t kMostBlocks = std::tuple_size_v<TokenHeader> - kFirstSum;
constexpr size_t kLeastBlockBytes = 64 << 10;  // what a system reads ahead

size_t blocks_of(size_t bytes, size_t block_bytes) {
  return (bytes + block_bytes - 1) / block_bytes;
}

uint32_t sum_of(std::span<const std::byte> tokens, size_t block, size_t block_bytes) {
  const size_t begin = block * block_bytes;
  Digest digest;
  digest.add(tokens.subspan(begin, std::min(block_bytes, tokens.size() - begin)));
  return static_cast<uint32_t>(digest.number());
}

}  // namespace

void add_block_sums(TokenHeader& header, std::span<const std::byte> tokens) {
  const size_t block_bytes = std::max(kLeastBlockBytes, blocks_of(tokens.size(), kMostBlocks));
  header[kMarkWord] = kMark;
  header[kSizeWord] = static_cast<int32_t>(block_bytes);
  for (size_t i = 0; i < blocks_of(tokens.size(), block_bytes); ++i)
    header[kFirstSum + i] = static_cast<int32_t>(sum_of(tokens, i, block_bytes));
}

std::optional<BlockSums> BlockSums::find(const TokenHeader& header,
                                         std::span<const std::byte> tokens) {
  if (header[kMarkWord] != kMark || header[kSizeWord] <= 0) return std::nullopt;
  BlockSums found;
  found.tokens_ = tokens;
  found.block_bytes_ = static_cast<size_t>(header[kSizeWord]);
  const size_t blocks = blocks_of(tokens.size(), found.block_bytes_);
  if (blocks > kMostBlocks) return std::nullopt;
  for (size_t i = 0; i < blocks; ++i)
    found.sums_.push_back(static_cast<uint32_t>(header[kFirstSum + i]));
  found.known_ = std::make_unique<std::atomic<bool>[]>(blocks);
  return found;
}

void BlockSums::require(size_t begin, size_t end, const std::filesystem::path& file) const {
  for (size_t block = begin / block_bytes_; block < blocks_of(end, block_bytes_); ++block) {
    if (known_[block].load(std::memory_order_relaxed)) continue;
    if (sum_of(tokens_, block, block_bytes_) != sums_[block])
      throw user_error("{} is damaged: of its tokens, bytes {} to {} are not what was written",
                       file.string(), block * block_bytes_,
                       std::min((block + 1) * block_bytes_, tokens_.size()) - 1)
          .at("data.path")
          .help(
              "check the disk and remove the file: the run, or tessera tokenize, then writes it "
              "again; or copy it again");
    known_[block].store(true, std::memory_order_relaxed);
  }
}

}  // namespace tessera
