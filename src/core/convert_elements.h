// SPDX-License-Identifier: Apache-2.0
// Converts floats to another dtype, rounded once; bytes need no alignment.
#pragma once

#include <cstddef>
#include <span>

#include "core/dtype.h"

namespace tessera {

// As many elements as `to` has room for. Equal dtypes of any kind are copied.
void convert_elements(DType from_dtype, std::span<const std::byte> from, DType to_dtype,
                      std::span<std::byte> to);

}  // namespace tessera
