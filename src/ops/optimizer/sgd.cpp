// SPDX-License-Identifier: Apache-2.0
// sgd: stochastic gradient descent with momentum, as torch.optim.SGD has it
// without dampening; but weight decay is decoupled, as in SGDW (Loshchilov and
// Hutter).
#include "ir/op_list.h"
#include "ops/optimizer/optimizer_op.h"

namespace tessera {

const OpDef& sgd_def() {
  static const OpDef def =
      optimizer_op(OpKind::sgd, "one step of SGD with momentum, with decoupled decay and clipping");
  return def;
}

}  // namespace tessera
