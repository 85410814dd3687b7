// SPDX-License-Identifier: Apache-2.0
// Converts elements to another dtype: floats rounded once, from bytes that need no alignment; any
// float dtype to doubles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/dtype.h"
#include "core/tensor_type.h"

namespace tessera {

// As many elements as `to` has room for. Equal dtypes of any kind are copied.
void convert_elements(DType from_dtype, std::span<const std::byte> from, DType to_dtype,
                      std::span<std::byte> to);

std::vector<double> to_doubles(const TensorType& type, std::span<const std::byte> bytes);

}  // namespace tessera
