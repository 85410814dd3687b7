// SPDX-License-Identifier: Apache-2.0
// Types and bytes of the buffers that an instruction names, and their sizes in short.
#pragma once

#include <fmt/core.h>

#include "program/program.h"

namespace tessera {

inline std::vector<TensorType> types_of(const ProgramClass& program_class,
                                        std::span<const int> buffers) {
  std::vector<TensorType> types;
  for (const int buffer : buffers)
    types.push_back(program_class.buffers[static_cast<size_t>(buffer)].type);
  return types;
}

inline int64_t bytes_of(const ProgramClass& program_class, std::span<const int> buffers) {
  int64_t bytes = 0;
  for (const int buffer : buffers)
    bytes += program_class.buffers[static_cast<size_t>(buffer)].type.bytes();
  return bytes;
}

// "4x256x768 768x3072": the sizes of their dims.
inline std::string shape_text(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& type : types) {
    std::string sizes;
    for (const Dim& dim : type.dims)
      sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", dim.size);
    text += fmt::format("{}{}", text.empty() ? "" : " ", sizes.empty() ? "1" : sizes);
  }
  return text;
}

}  // namespace tessera
