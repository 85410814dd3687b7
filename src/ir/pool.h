// SPDX-License-Identifier: Apache-2.0
// A pool: the rows of tokens that were sent to experts, packed in the order of experts, with dims
// `expert` and `slot`. Which row lies where is known at run time alone, to the rank that has it, so
// that a pool cannot be split again or gathered.
#pragma once

#include "core/tensor_type.h"

namespace tessera {

inline constexpr const char *kExpertDim = "expert", *kSlotDim = "slot";

// Rows, or what is known of each.
inline bool is_pool(const TensorType& type) { return type.has(kExpertDim) && type.has(kSlotDim); }
// Also what is known of each expert's part.
inline bool is_pool_side(const TensorType& type) { return type.has(kExpertDim); }

}  // namespace tessera
