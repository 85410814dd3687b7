// SPDX-License-Identifier: Apache-2.0
// A 64-bit digest of bytes, several GB/s: it finds corruption, not forgery. Depends on the bytes
// and where `add` cuts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tessera {

class Digest {
 public:
  void add(std::span<const std::byte> bytes);
  std::string text() const;  // 16 hex digits

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15u;
};

}  // namespace tessera
