// SPDX-License-Identifier: Apache-2.0
// The safetensors format: a memory-mapped reader and a writer in one pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "files/atomic_file.h"
#include "files/mapped_file.h"

namespace tessera {

// A safetensors file, memory-mapped. Everything the header claims is checked when it is opened: a
// truncated, hostile or foreign file gives one UserError, and what `tensors()` returns lies inside
// the file.
struct SafetensorsTensor {
  std::string name;
  DType dtype = DType::Fp32;
  bool half = false;  // stored as F16: two bytes for each number of dtype, fp32
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // into the mapping; aligned to no more than a byte
};

struct SafetensorsReaderOptions {
  bool takes_half = false;  // F16, which we never write, is not refused
};

class SafetensorsReader {
 public:
  explicit SafetensorsReader(const std::filesystem::path& path,
                             const SafetensorsReaderOptions& options = {});

  // In the order of their bytes.
  const std::vector<SafetensorsTensor>& tensors() const { return tensors_; }
  const SafetensorsTensor* find(std::string_view name) const;  // null when absent
  const SafetensorsTensor& get(std::string_view name) const;   // a UserError when absent
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return file_.path(); }
  std::span<const std::byte> header() const {  // its length included
    return std::as_bytes(std::span(header_));
  }
  // Where a tensor's bytes begin in the file.
  int64_t offset_of(const SafetensorsTensor& tensor) const {
    return tensor.bytes.data() - file_.bytes().data();
  }
  int64_t file_bytes() const { return static_cast<int64_t>(file_.bytes().size()); }

 private:
  MappedFile file_;
  std::string header_;
  std::vector<SafetensorsTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

// Writes a safetensors file in one pass: 8 bytes of header length, a JSON header padded to 8, then
// the tensors in the announced order. The file appears only at `commit` (AtomicFile), so a reader
// never meets half of one.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::Fp32;
  std::vector<int64_t> shape;
};

int64_t size_bytes(const SafetensorsEntry& entry);

class SafetensorsWriter {
 public:
  SafetensorsWriter(std::filesystem::path path, std::vector<SafetensorsEntry> entries,
                    const std::map<std::string, std::string>& metadata, FileWatch watch = {});

  std::string_view header() const { return header_; }  // as written, its length included
  int64_t file_bytes() const;

  // The next tensor, whole; `name` must be the next announced one.
  void write(const std::string& name, std::span<const std::byte> bytes);
  void commit();

 private:
  std::vector<SafetensorsEntry> entries_;
  size_t next_ = 0;
  std::string header_;
  AtomicFile file_;
};

// The names that safetensors gives to our dtypes.
inline constexpr std::array<std::pair<DType, std::string_view>, 4> kSafetensorsNames{
    {{DType::Fp64, "F64"}, {DType::Fp32, "F32"}, {DType::Bf16, "BF16"}, {DType::Int32, "I32"}}};

inline std::string_view safetensors_name(DType dtype) {
  for (const auto& [ours, theirs] : kSafetensorsNames)
    if (ours == dtype) return theirs;
  check_failed("dtype has a safetensors name", __FILE__, __LINE__, std::string(name(dtype)));
}

inline std::optional<DType> dtype_from_safetensors(std::string_view text) {
  for (const auto& [ours, theirs] : kSafetensorsNames)
    if (theirs == text) return ours;
  return std::nullopt;
}

}  // namespace tessera
