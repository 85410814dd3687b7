// SPDX-License-Identifier: Apache-2.0
// lion: Lion (Chen et al., Symbolic Discovery of Optimization Algorithms):
// every weight moves by the learning rate, in the direction of the sign of a
// mean gradient; weight decay is decoupled.
#include "ir/op_list.h"
#include "ops/optimizer/optimizer_op.h"

namespace tessera {

const OpDef& lion_def() {
  static const OpDef def =
      optimizer_op(OpKind::lion, "one Lion step with decoupled decay and clipping");
  return def;
}

}  // namespace tessera
