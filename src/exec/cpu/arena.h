// SPDX-License-Identifier: Apache-2.0
// A block of memory mapped from the system: zero at first, page-aligned, in large pages where the
// kernel grants them; or lent by somebody else.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

class Arena {
 public:
  Arena() = default;
  explicit Arena(int64_t bytes);
  Arena(std::byte* lent, int64_t bytes) : data_(lent), bytes_(bytes), lent_(true) {}
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  bool lent_ = false;  // by somebody who takes it back
};

}  // namespace tessera
