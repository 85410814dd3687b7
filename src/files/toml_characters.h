// SPDX-License-Identifier: Apache-2.0
// toml++ 3.3 runs into undefined behaviour at most characters beyond ASCII that stand outside of
// strings and comments. TOML allows none there, so they are refused before it reads the text.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// A UserError that names `origin` and the line.
void check_toml_characters(std::string_view toml, const std::string& origin);

}  // namespace tessera
