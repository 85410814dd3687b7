// SPDX-License-Identifier: Apache-2.0
// Converts elements of any float dtype to doubles.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/tensor_type.h"

namespace tessera {

std::vector<double> to_doubles(const TensorType& type, std::span<const std::byte> bytes);

}  // namespace tessera
