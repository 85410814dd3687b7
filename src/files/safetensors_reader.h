// SPDX-License-Identifier: Apache-2.0
// A safetensors file, memory-mapped. Everything the header claims is checked when it is opened: a
// truncated, hostile or foreign file gives one UserError, and what `tensors()` returns lies inside
// the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "files/mapped_file.h"

namespace tessera {

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

}  // namespace tessera
