// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/arena.h"

#include <sys/mman.h>

#include <utility>

#include "core/error.h"

namespace tessera {

Arena::Arena(int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* mapped = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw user_error("{:.1f} GB of memory are needed, and the system has not as much to give",
                     static_cast<double>(bytes) / 1e9)
        .help(
            "use a smaller batch, more microbatches or a smaller model; `tessera compile` shows "
            "where the bytes go");
  madvise(mapped, static_cast<size_t>(bytes), MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(mapped);
}

Arena::~Arena() {
  if (data_ && !lent_) munmap(data_, static_cast<size_t>(bytes_));
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      lent_(other.lent_) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(lent_, other.lent_);
  return *this;
}

}  // namespace tessera
