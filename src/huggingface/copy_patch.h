// SPDX-License-Identifier: Apache-2.0
// Moves the elements of a patch from one side's tensor to the other's, as they are; by tiles that
// fit the cache where one side is transposed.
#pragma once

#include <cstddef>
#include <span>

#include "huggingface/tensor_map.h"

namespace tessera {

void copy_to_ours(const Patch& patch, int64_t element_bytes, std::span<const std::byte> theirs,
                  std::span<std::byte> ours);
void copy_to_theirs(const Patch& patch, int64_t element_bytes, std::span<const std::byte> ours,
                    std::span<std::byte> theirs);

}  // namespace tessera
