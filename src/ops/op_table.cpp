// SPDX-License-Identifier: Apache-2.0
// OpKind -> OpDef, from op_list.def. A missing definition is a link error that names it.
#include <array>

#include "ir/op_def.h"
#include "ir/op_list.h"

namespace tessera {

#define OP(name, ...) const OpDef& name##_def();
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"

const OpDef& op_def(OpKind op) {
  static const std::array<const OpDef*, kNumOps> table{
#define OP(name, ...) &name##_def(),
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"
  };
  return *table.at(static_cast<size_t>(op));
}

}  // namespace tessera
