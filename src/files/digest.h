// SPDX-License-Identifier: Apache-2.0
// A 64-bit digest of bytes, several GB/s: it finds corruption, not forgery. Depends on the bytes
// and where `add` cuts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace tessera {

class Digest {
 public:
  void add(std::span<const std::byte> bytes);
  // The same, where not all bytes are there at once; each part is asked for once, in their order.
  using Part = std::function<std::span<const std::byte>(size_t begin, size_t count)>;
  void add(size_t bytes, const Part& part);
  std::string text() const;  // 16 hex digits

 private:
  uint64_t state_ = 0x9E3779B97F4A7C15u;
};

}  // namespace tessera
