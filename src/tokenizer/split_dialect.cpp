// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_dialect.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

// Unicode's white space. PCRE2's own \s also has U+180E.
constexpr std::string_view kSpaces = "\\p{Z}\\t-\\r\\x{85}";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

[[noreturn]] void refuse(std::string_view what) {
  throw user_error("a splitting rule has {}, which regular expression engines read differently",
                   what)
      .help(
          "rules may use \\s \\S \\d \\p{..} \\r \\n \\t, classes, groups, alternatives, "
          "repetition and lookahead");
}

// What an escape becomes; `escape` is the letter behind the backslash.
std::string translate_escape(char escape, bool in_class) {
  switch (escape) {
    case 's':
      return in_class ? std::string(kSpaces) : fmt::format("[{}]", kSpaces);
    case 'h':
      return in_class ? std::string(kHexDigits) : fmt::format("[{}]", kHexDigits);
    case 'S':
      if (!in_class) return fmt::format("[^{}]", kSpaces);
      refuse("\\S within a class");
    case 'H':
    case 'w':
    case 'W':
    case 'b':
    case 'B':
    case 'K':
    case 'g':
    case 'k':
    case 'X':
    case 'R':
    case 'O':
    case 'y':
    case 'Y':
    case 'Q':
    case 'E':
    case 'c':
    case 'C':
    case 'M':
      refuse(fmt::format("\\{}", escape));
    default:
      return {'\\', escape};
  }
}

}  // namespace

std::string to_pcre2_pattern(std::string_view pattern) {
  std::string result;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const std::string_view rest = pattern.substr(i);
    if (c == '\\' && rest.size() > 1) {
      result += translate_escape(pattern[++i], in_class);
      if (rest.substr(2).starts_with('{')) {  // \p{L}: braces that repeat nothing
        const size_t end = std::min(pattern.find('}', i), pattern.size() - 1);
        result += pattern.substr(i + 1, end - i);
        i = end;
      }
    } else if (in_class) {
      if (rest.starts_with("&&") || c == '[') refuse("a class within a class");
      in_class = c != ']';
      result += c;
    } else {
      if (rest.starts_with("{,")) refuse("{,n}");
      if (rest.starts_with("(?") && rest.substr(2).find_first_of("msx)") == 0)
        refuse("an option other than (?i:");
      if (rest.starts_with("(*")) refuse("(*");
      if (rest.starts_with("}+")) refuse("}+");
      if (rest.starts_with("[]") || rest.starts_with("[^]")) refuse("a class that begins with ]");
      in_class = c == '[';
      result += c;
      if (rest.starts_with("[^")) {
        result += '^';
        ++i;
      }
    }
  }
  return result;
}

}  // namespace tessera
