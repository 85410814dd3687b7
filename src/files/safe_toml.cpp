// SPDX-License-Identifier: Apache-2.0
#include "files/safe_toml.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kMaxKeyParts = 16;
constexpr std::string_view kBetweenKeys = "\n=,[{";

std::string line_of(std::string_view toml, size_t i, const std::string& origin) {
  return fmt::format("{}:{}", origin, 1 + std::ranges::count(toml.substr(0, i), '\n'));
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// The end of the string whose opening quote stands at `begin`. A character beyond ASCII behind a
// backslash, or behind the blanks that it joins lines over, is met by toml++ as if it stood
// outside.
size_t string_end(std::string_view toml, size_t begin) {
  const char quote = toml[begin];
  const std::string_view triple = quote == '"' ? R"(""")" : "'''";
  const bool many_lines = toml.substr(begin).starts_with(triple);
  for (size_t i = begin + (many_lines ? 3 : 1); i < toml.size(); ++i) {
    if (quote == '"' && toml[i] == '\\') {
      const size_t next = std::min(toml.find_first_not_of(" \t\r\n", i + 1), toml.size());
      if (next < toml.size() && !is_ascii(toml[next])) return next;
      ++i;
    } else if (many_lines ? toml.substr(i).starts_with(triple) : toml[i] == quote) {
      return i + (many_lines ? 3 : 1);
    } else if (!many_lines && toml[i] == '\n') {
      return i;
    }
  }
  return toml.size();
}

// Where keys and values may begin, as far as that can be told without reading them. toml++ looks
// ahead in a value that it does not know, also over quotes, so a quote opens a string only where a
// key or a value begins; behind any other, and where the text is no TOML, nothing is sure any more.
class TomlPlace {
 public:
  bool is_sure() const { return sure_; }

  // Whether the quote is one that opens a string.
  bool opens_string() {
    if (!fresh_) sure_ = false;
    fresh_ = false;
    return sure_;
  }

  // Parts of the key that stands here, as far as it is read.
  int key_parts() const { return key_parts_; }

  // A character outside of strings and comments.
  void pass(char c) {
    key_parts_ = c == '.'                                    ? key_parts_ + 1
                 : kBetweenKeys.find(c) != kBetweenKeys.npos ? 1
                                                             : key_parts_;
    switch (c) {
      case ' ':
      case '\t':
        return;
      case '\n':
        sure_ = sure_ && (nested_.empty() || nested_.back() == '[');
        return begin(nested_.empty());
      case '=':
        sure_ = sure_ && key_;
        return begin(false);
      case '.':
        fresh_ = key_;
        return;
      case ',':
        sure_ = sure_ && !nested_.empty();
        return begin(sure_ && nested_.back() == '{');
      case '[':
      case '{':
        return open(c);
      case ']':
      case '}':
        fresh_ = false;
        if (!nested_.empty()) nested_.pop_back();
        return;
      default:
        fresh_ = false;
    }
  }

 private:
  void begin(bool key) {
    fresh_ = true;
    key_ = key;
  }

  void open(char bracket) {
    sure_ = sure_ && fresh_;
    if (key_) return;  // the header of a section
    nested_.push_back(bracket);
    begin(bracket == '{');
  }

  bool sure_ = true, fresh_ = true, key_ = true;  // fresh: a key or a value may begin here
  std::string nested_;                            // brackets of values
  int key_parts_ = 1;
};

}  // namespace

void require_safe_toml(std::string_view toml, const std::string& origin) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  size_t i = toml.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  TomlPlace place;
  while (i < toml.size()) {
    const char c = toml[i];
    if (c == '#' && place.is_sure()) {
      i = std::min(toml.find('\n', i), toml.size());
    } else if ((c == '"' || c == '\'') && place.opens_string()) {
      i = string_end(toml, i);
    } else if (is_ascii(c)) {
      place.pass(c);
      ++i;
      if (place.key_parts() > kMaxKeyParts)
        throw user_error("{} has a key of more than {} parts", origin, kMaxKeyParts)
            .at(line_of(toml, i, origin))
            .help("write sections as [train] and values as steps = 100, texts in quotes");
    } else {
      throw user_error("{} is not TOML: a character outside of quotes is not ASCII", origin)
          .at(line_of(toml, i, origin))
          .help("put keys and texts with such characters into quotes");
    }
  }
}

}  // namespace tessera
