// SPDX-License-Identifier: Apache-2.0
// adamw: AdamW (Loshchilov and Hutter) as PyTorch has it.
#include "ir/op_list.h"
#include "ops/optimizer/optimizer_op.h"

namespace tessera {

const OpDef& adamw_def() {
  static const OpDef def =
      optimizer_op(OpKind::adamw, "one AdamW step with decoupled decay and clipping");
  return def;
}

}  // namespace tessera
