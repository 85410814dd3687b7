// SPDX-License-Identifier: Apache-2.0
// An op, for whoever carries it about; op_list.h has their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class OpKind : uint16_t;

std::string_view name(OpKind op);
std::optional<OpKind> op_from_name(std::string_view text);

}  // namespace tessera
