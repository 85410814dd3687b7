// SPDX-License-Identifier: Apache-2.0
// What toml++ 3.3 cannot bear is refused before it reads a text. It runs into undefined behaviour
// at most characters beyond ASCII that stand outside of strings and comments, where TOML allows
// none, and its stack overflows at dotted keys of many parts.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// A UserError that names `origin` and the line.
void require_safe_toml(std::string_view toml, const std::string& origin);

}  // namespace tessera
