// SPDX-License-Identifier: Apache-2.0
// The bytes of a file in their order, unpacked where its first bytes are those of gzip or zstd.
// Memory is bounded by the format's window, whatever the file claims; checksums are verified, and
// what is cut short, damaged or followed by other bytes is a UserError with the file and the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

namespace tessera {

enum class Compression : uint8_t { None, Gzip, Zstd };

Compression compression_of(std::string_view first_bytes);
bool is_packed(const std::filesystem::path& path);  // by its first bytes
// "a.jsonl" for a.jsonl.gz and a.jsonl.zst; any other name as it is.
std::filesystem::path name_when_unpacked(const std::filesystem::path& path);

class UnpackedFile {
 public:
  virtual ~UnpackedFile() = default;
  // The next bytes, at most as many as there is room for; 0 only at the end.
  virtual size_t read(std::span<std::byte> to) = 0;
  // Of the file itself: bytes that have been read, to show progress by, and bytes of all.
  virtual int64_t position() const = 0;
  virtual int64_t file_bytes() const = 0;
};

std::unique_ptr<UnpackedFile> open_unpacked(const std::filesystem::path& path);

}  // namespace tessera
