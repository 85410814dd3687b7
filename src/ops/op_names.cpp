// SPDX-License-Identifier: Apache-2.0
// OpKind -> name and back, from op_list.def.
#include <array>

#include "ir/op_kind.h"
#include "ir/op_list.h"

namespace tessera {

std::string_view name(OpKind op) {
  static constexpr std::array<std::string_view, kNumOps> names{
#define OP(name, ...) #name,
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"
  };
  return names.at(static_cast<size_t>(op));
}

std::optional<OpKind> op_from_name(std::string_view text) {
  for (int i = 0; i < kNumOps; ++i)
    if (name(static_cast<OpKind>(i)) == text) return static_cast<OpKind>(i);
  return std::nullopt;
}

}  // namespace tessera
