// SPDX-License-Identifier: Apache-2.0
// What Hopper's copy engine is told about a tensor of bf16 or of bytes, and whether there is a
// Hopper.
#pragma once

#include <cuda.h>

#include <array>
#include <cstdint>

namespace tessera {

// Sizes from the innermost dim on, dense; boxes are 64 elements of the innermost dim and as many of
// the others as `box` says. Zeros are read outside.
CUtensorMap make_tensor_map(const void* data, const std::array<int64_t, 4>& sizes,
                            const std::array<int, 3>& box);
// Boxes of `rows` of the dim `row_dim` and one of every other.
CUtensorMap make_tensor_map(const void* data, const std::array<int64_t, 4>& sizes, int row_dim,
                            int rows);

// Of bytes: boxes are 128 of the innermost dim by `rows` of the next one.
CUtensorMap make_byte_tensor_map(const void* data, const std::array<int64_t, 4>& sizes, int rows);

// The current device has compute capability 9.0, whose instructions kernels of 9.0a use.
bool is_hopper();
int multiprocessors();

}  // namespace tessera
