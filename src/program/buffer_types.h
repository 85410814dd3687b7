// SPDX-License-Identifier: Apache-2.0
// Types of the buffers that an instruction names.
#pragma once

#include "program/program.h"

namespace tessera {

inline std::vector<TensorType> types_of(const ProgramClass& program_class,
                                        const std::vector<int>& buffers) {
  std::vector<TensorType> types;
  for (const int buffer : buffers)
    types.push_back(program_class.buffers[static_cast<size_t>(buffer)].type);
  return types;
}

}  // namespace tessera
