// SPDX-License-Identifier: Apache-2.0
#include "files/digest.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace tessera {
namespace {

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
  return hash ^ (hash >> 29);
}

}  // namespace

// Eight independent chains, so that the multiplications overlap; each step is a bijection of its
// chain, so one changed word always changes the digest.
void Digest::add(std::span<const std::byte> bytes) {
  constexpr size_t kLanes = 8, kStride = kLanes * sizeof(uint64_t);
  std::array<uint64_t, kLanes> lanes;
  for (size_t l = 0; l < kLanes; ++l) lanes[l] = mix(state_, l);
  size_t i = 0;
  for (; i + kStride <= bytes.size(); i += kStride)
    for (size_t l = 0; l < kLanes; ++l) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + i + l * sizeof word, sizeof word);
      lanes[l] = mix(lanes[l], word);
    }
  for (const uint64_t lane : lanes) state_ = mix(state_, lane);
  for (; i < bytes.size(); ++i) state_ = mix(state_, static_cast<uint64_t>(bytes[i]));
  state_ = mix(state_, bytes.size());
}

std::string Digest::text() const { return fmt::format("{:016x}", state_); }

}  // namespace tessera
