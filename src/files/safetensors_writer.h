// SPDX-License-Identifier: Apache-2.0
// Writes a safetensors file in one pass: 8 bytes of header length, a JSON header padded to 8, then
// the tensors in the announced order. The file appears only at `commit` (AtomicFile), so a reader
// never meets half of one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "files/atomic_file.h"

namespace tessera {

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

}  // namespace tessera
