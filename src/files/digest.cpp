// SPDX-License-Identifier: Apache-2.0
#include "files/digest.h"

#include <fmt/format.h>

#include <algorithm>

#include "files/old_digest.h"

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

std::string Digest::text() const {
  const auto* state = reinterpret_cast<const XXH3_state_t*>(state_.data());
  return fmt::format("{:016x}", kind_ == DigestKind::Own ? old_state_ : XXH3_64bits_digest(state));
}

std::string digest_of(std::span<const std::byte> bytes, DigestKind kind) {
  Digest digest(kind);
  digest.add(bytes);
  return digest.text();
}

}  // namespace tessera
