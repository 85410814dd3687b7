// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's fast bf16 kernels want sizes that are multiples of eight: a product of a vocabulary of
// 50,257 takes seven times as long as one of 50,256. Such a product is two: nearly all of it, and
// the few rows, columns or terms that are left.
#pragma once

#include <array>
#include <optional>

#include "exec/cuda/matrix_products.h"

namespace tessera {

// In the order to be enqueued in; nothing where the product is fast as it is.
std::optional<std::array<DeviceProduct, 2>> split_ragged(const DeviceProduct& product);

}  // namespace tessera
