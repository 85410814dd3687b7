// SPDX-License-Identifier: Apache-2.0
#include "files/old_digest.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace tessera {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
  return hash ^ (hash >> 29);
}

}  // namespace

// Eight independent chains, so that the multiplications overlap.
uint64_t add_to_old_digest(
    uint64_t digest, size_t bytes,
    const std::function<std::span<const std::byte>(size_t begin, size_t count)>& part) {
  constexpr size_t kLanes = 8, kStride = kLanes * sizeof(uint64_t), kPartBytes = 1 << 20;
  static_assert(kPartBytes % kStride == 0);  // only the last part has bytes left over
  std::array<uint64_t, kLanes> lanes;
  for (size_t l = 0; l < kLanes; ++l) lanes[l] = mix(digest, l);
  std::span<const std::byte> rest;
  for (size_t begin = 0; begin < bytes; begin += kPartBytes) {
    rest = part(begin, std::min(kPartBytes, bytes - begin));
    for (; rest.size() >= kStride; rest = rest.subspan(kStride))
      for (size_t l = 0; l < kLanes; ++l) {
        uint64_t word;
        std::memcpy(&word, rest.data() + l * sizeof word, sizeof word);
        lanes[l] = mix(lanes[l], word);
      }
  }
  for (const uint64_t lane : lanes) digest = mix(digest, lane);
  for (const std::byte byte : rest) digest = mix(digest, static_cast<uint64_t>(byte));
  return mix(digest, bytes);
}

}  // namespace tessera
