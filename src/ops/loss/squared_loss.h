// SPDX-License-Identifier: Apache-2.0
// Shared by squared_loss and its gradient.
#pragma once

#include "ops/row_ranges.h"
#include "ops/type_rules.h"

namespace tessera {

inline void require_squared_loss_operands(const OpCall& call) {
  require_float(call, 0);
  require_same_type(call, 0, 1);
  require_type(call, 2, scalar(DType::Fp64));
}

inline int64_t squared_loss_workspace_bytes(const OpCall& call, const DeviceProfile&) {
  return num_pieces(call.operand(0).num_elements()) * size_bytes(DType::Fp64);
}

}  // namespace tessera
