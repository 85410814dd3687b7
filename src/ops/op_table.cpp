// SPDX-License-Identifier: Apache-2.0
// OpKind -> OpDef and names, made from the one list. A missing definition is a link error that
// names it.
#include <array>

#include "ir/op_def.h"

namespace tessera {

#define OP(name, folder) const OpDef& name##_def();
#include "ops/op_list.def"
#undef OP

const OpDef& op_def(OpKind op) {
  static const std::array<const OpDef*, kNumOps> table{
#define OP(name, folder) &name##_def(),
#include "ops/op_list.def"
#undef OP
  };
  return *table.at(static_cast<size_t>(op));
}

std::string_view name(OpKind op) {
  static constexpr std::array<std::string_view, kNumOps> names{
#define OP(name, folder) #name,
#include "ops/op_list.def"
#undef OP
  };
  return names.at(static_cast<size_t>(op));
}

std::optional<OpKind> op_from_name(std::string_view text) {
  for (int i = 0; i < kNumOps; ++i)
    if (name(static_cast<OpKind>(i)) == text) return static_cast<OpKind>(i);
  return std::nullopt;
}

}  // namespace tessera
