// SPDX-License-Identifier: Apache-2.0
// The ops that exist, from the one list. Included where ops are named or counted: a new one
// recompiles those files and no others.
#pragma once

#include "ir/op_kind.h"

namespace tessera {

enum class OpKind : uint16_t {
#define OP(name, folder) name,
#include "ops/op_list.def"
#undef OP
};

inline constexpr int kNumOps = 0
#define OP(name, folder) +1
#include "ops/op_list.def"
#undef OP
    ;

}  // namespace tessera
