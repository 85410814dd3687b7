// SPDX-License-Identifier: Apache-2.0
#include "files/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

#include "core/error.h"
#include "files/errno_text.h"
#include "files/regular_file.h"

namespace tessera {

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  const RegularFile file = open_regular_file(path_);
  size_ = static_cast<size_t>(file.bytes());
  // An empty file cannot be mapped; its bytes are the empty span.
  void* memory = nullptr;
  if (size_ > 0) memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (memory == MAP_FAILED)
    throw user_error("cannot read {}: {}", path_.string(), errno_text(errno));
  data_ = static_cast<const std::byte*>(memory);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace tessera
