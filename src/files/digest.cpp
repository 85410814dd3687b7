// SPDX-License-Identifier: Apache-2.0
#include "files/digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

// In the binary itself, since machines that it is carried to lack the library.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tessera {
namespace {

constexpr size_t kPartBytes = 1 << 20;

XXH3_state_t* library_state(std::span<std::byte> state) {
  return reinterpret_cast<XXH3_state_t*>(state.data());
}

}  // namespace

Digest::Digest(DigestKind kind) : kind_(kind), old_state_(kFirstOldDigest) {
  static_assert(sizeof(XXH3_state_t) <= sizeof(state_) && alignof(XXH3_state_t) <= 64);
  XXH3_64bits_reset(library_state(state_));
}

void Digest::add(size_t bytes, const Part& part) {
  if (kind_ == DigestKind::Own) {
    old_state_ = add_to_old_digest(old_state_, bytes, part);
    return;
  }
  for (size_t begin = 0; begin < bytes; begin += kPartBytes) {
    const auto next = part(begin, std::min(kPartBytes, bytes - begin));
    XXH3_64bits_update(library_state(state_), next.data(), next.size());
  }
}

void Digest::add(std::span<const std::byte> bytes) {
  add(bytes.size(), [&](size_t begin, size_t count) { return bytes.subspan(begin, count); });
}

uint64_t Digest::number() const {
  const auto* state = reinterpret_cast<const XXH3_state_t*>(state_.data());
  return kind_ == DigestKind::Own ? old_state_ : XXH3_64bits_digest(state);
}

std::string Digest::text() const { return fmt::format("{:016x}", number()); }

std::string digest_of(std::span<const std::byte> bytes, DigestKind kind) {
  Digest digest(kind);
  digest.add(bytes);
  return digest.text();
}

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

namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // bits reversed

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t rest = ~uint32_t{0};
  for (const char byte : bytes)
    rest = (rest >> 8) ^ kTable[(rest ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~rest;
}

}  // namespace tessera
