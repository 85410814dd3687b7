// SPDX-License-Identifier: Apache-2.0
// The ops that exist, from the one list. Included where ops are named or counted: a new one
// recompiles those files and no others.
#pragma once

#include "ir/op_kind.h"

namespace tessera {

enum class OpKind : uint16_t {
#define OP(name, ...) name,
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"
};

inline constexpr int kNumOps = 0
#define OP(name, ...) +1
#define COLLECTIVE(name) OP(name, collective)
#include "ops/op_list.def"
    ;

}  // namespace tessera
