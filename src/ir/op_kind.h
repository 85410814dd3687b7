// SPDX-License-Identifier: Apache-2.0
// The ops that exist, from the one list.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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

std::string_view name(OpKind op);
std::optional<OpKind> op_from_name(std::string_view text);

}  // namespace tessera
