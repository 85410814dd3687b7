// SPDX-License-Identifier: Apache-2.0
// Texts as TOML that reads back to them.
#pragma once

#include <string>

namespace tessera {

std::string toml_string(const std::string& text);
// `name` as a key: in quotes where it holds more than letters, digits, '_' and '-'.
std::string toml_key(const std::string& name);

}  // namespace tessera
