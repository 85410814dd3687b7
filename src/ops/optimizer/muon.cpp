// SPDX-License-Identifier: Apache-2.0
// muon (Jordan et al. 2024): where others read the gradient it reads the orthogonal matrix next to
// the direction of momentum, which nesterov and orthogonalize have made. Weight decay is decoupled.
#include "ir/op_list.h"
#include "ops/optimizer/optimizer_op.h"

namespace tessera {

const OpDef& muon_def() {
  static const OpDef def =
      optimizer_op(OpKind::muon, "one step of Muon along a direction, with decoupled decay");
  return def;
}

}  // namespace tessera
