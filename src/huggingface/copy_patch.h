// SPDX-License-Identifier: Apache-2.0
// Copies the elements of a patch from one side's tensor to the other's, unchanged; in tiles that
// fit the cache if one side is transposed.
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
