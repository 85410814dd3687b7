// SPDX-License-Identifier: Apache-2.0
// Digests of bytes. `Digest` has 64 bits and takes several GB/s: it finds corruption, not forgery.
// It is XXH3, so that `xxhsum -H3` gives the same of a whole file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

enum class DigestKind {
  Xxh3,
  Own,  // of checkpoints before format 3, to read them: add_to_old_digest
};

class Digest {
 public:
  explicit Digest(DigestKind kind = DigestKind::Xxh3);

  void add(std::span<const std::byte> bytes);
  // The same, where not all bytes are there at once; each part is asked for once, in their order.
  using Part = std::function<std::span<const std::byte>(size_t begin, size_t count)>;
  void add(size_t bytes, const Part& part);
  uint64_t number() const;
  std::string text() const;  // 16 hex digits

 private:
  DigestKind kind_;
  uint64_t old_state_;
  alignas(64) std::array<std::byte, 576> state_;  // the library's own
};

std::string digest_of(std::span<const std::byte> bytes, DigestKind kind = DigestKind::Xxh3);

// The digest of checkpoints before format 3, kept to verify them. It depends on the bytes and on
// where they are cut.
inline constexpr uint64_t kFirstOldDigest = 0x9E3779B97F4A7C15u;

uint64_t add_to_old_digest(
    uint64_t digest, size_t bytes,
    const std::function<std::span<const std::byte>(size_t begin, size_t count)>& part);

// CRC-32C (Castagnoli), as TFRecord files have it; a table, no special instruction.
uint32_t crc32c(std::string_view bytes);

}  // namespace tessera
