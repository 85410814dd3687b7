// SPDX-License-Identifier: Apache-2.0
#include "files/toml_characters.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

// The end of the string whose opening quote stands at `begin`.
size_t string_end(std::string_view toml, size_t begin) {
  const char quote = toml[begin];
  const std::string_view triple = quote == '"' ? R"(""")" : "'''";
  const bool many_lines = toml.substr(begin).starts_with(triple);
  for (size_t i = begin + (many_lines ? 3 : 1); i < toml.size(); ++i) {
    if (quote == '"' && toml[i] == '\\')
      ++i;
    else if (many_lines ? toml.substr(i).starts_with(triple) : toml[i] == quote)
      return i + (many_lines ? 3 : 1);
    else if (!many_lines && toml[i] == '\n')
      return i;
  }
  return toml.size();
}

}  // namespace

void check_toml_characters(std::string_view toml, const std::string& origin) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  size_t i = toml.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (i < toml.size()) {
    if (toml[i] == '#')
      i = std::min(toml.find('\n', i), toml.size());
    else if (toml[i] == '"' || toml[i] == '\'')
      i = string_end(toml, i);
    else if (static_cast<unsigned char>(toml[i]) < 0x80)
      ++i;
    else
      throw user_error("{} is not TOML: a character outside of quotes is not ASCII", origin)
          .at(fmt::format("{}:{}", origin, 1 + std::ranges::count(toml.substr(0, i), '\n')))
          .help("put keys and texts with such characters into quotes");
  }
}

}  // namespace tessera
