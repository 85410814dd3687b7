// SPDX-License-Identifier: Apache-2.0
#include "files/toml_text.h"

#include <fmt/format.h>

namespace tessera {

std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted.append("\\").push_back(c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    else
      quoted.push_back(c);
  }
  return quoted + "\"";
}

std::string toml_key(const std::string& name) {
  constexpr std::string_view kBare =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  const bool bare = !name.empty() && name.find_first_not_of(kBare) == std::string::npos;
  return bare ? name : toml_string(name);
}

}  // namespace tessera
