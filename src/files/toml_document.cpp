// SPDX-License-Identifier: Apache-2.0
#include "files/toml_document.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/utf8.h"

namespace tessera {
namespace {

// toml++ 3.3 runs into undefined behaviour at most characters beyond ASCII that stand outside of
// strings and comments, where TOML allows none. So it is given ASCII alone: each byte of another
// character stands as ` and two digits, which TOML allows in strings and comments, too, and nowhere
// else.
constexpr char kMark = '`';

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

std::string to_ascii(std::string_view text) {
  std::string ascii;
  for (const char c : text) {
    if (is_ascii(c) && c != kMark)
      ascii += c;
    else
      ascii += fmt::format("{}{:02x}", kMark, static_cast<unsigned char>(c));
  }
  return ascii;
}

std::string from_ascii(std::string_view ascii) {
  std::string text;
  for (size_t i = 0; i < ascii.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(ascii[i]);
    if (ascii[i] == kMark && i + 2 < ascii.size()) {
      std::from_chars(ascii.data() + i + 1, ascii.data() + i + 3, byte, 16);
      i += 2;
    }
    text += static_cast<char>(byte);
  }
  return text;
}

std::string_view line_of(std::string_view text, uint32_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

TomlValue value_of(const toml::node& node);

// toml++ sorts tables by name.
std::vector<std::pair<std::string, TomlValue>> entries_of(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> nodes;
  for (const auto& [name, node] : table) nodes.emplace_back(from_ascii(name.str()), &node);
  std::ranges::stable_sort(nodes, [](const auto& a, const auto& b) {
    return a.second->source().begin < b.second->source().begin;
  });
  std::vector<std::pair<std::string, TomlValue>> entries;
  for (const auto& [name, node] : nodes) entries.emplace_back(name, value_of(*node));
  return entries;
}

TomlValue value_of(const toml::node& node) {
  TomlValue value{.kind = TomlValue::Kind::Date,
                  .line = static_cast<int>(node.source().begin.line)};
  if (const auto* text = node.as_string()) {
    value.kind = TomlValue::Kind::Text;
    value.text = from_ascii(text->get());
  } else if (const auto* integer = node.as_integer()) {
    value.kind = TomlValue::Kind::Integer;
    value.integer = integer->get();
    value.number = static_cast<double>(value.integer);
  } else if (const auto* number = node.as_floating_point()) {
    value.kind = TomlValue::Kind::Number;
    value.number = number->get();
  } else if (const auto* flag = node.as_boolean()) {
    value.kind = TomlValue::Kind::Flag;
    value.flag = flag->get();
  } else if (const auto* list = node.as_array()) {
    value.kind = TomlValue::Kind::List;
    for (const toml::node& item : *list) value.items.push_back(value_of(item));
  } else if (const auto* table = node.as_table()) {
    value.kind = TomlValue::Kind::Table;
    value.entries = entries_of(*table);
  }
  return value;
}

// Tables as deep as a key has parts are made and read by calls as deep.
void check_dots(std::string_view ascii, const std::string& origin, const std::string& help) {
  constexpr int kMostDots = 200;
  constexpr std::string_view kBetweenKeys = "\n=,[{";
  int dots = 0, line = 1;
  for (const char c : ascii) {
    if (kBetweenKeys.find(c) != std::string_view::npos) dots = 0;
    if (c == '\n') ++line;
    if (c == '.' && ++dots > kMostDots)
      throw user_error("{} has a key of more than {} parts", origin, kMostDots)
          .at(fmt::format("{}:{}", origin, line))
          .help(help);
  }
}

UserError error_of(const toml::parse_error& error, std::string_view ascii,
                   const std::string& origin, const std::string& help) {
  const auto [line, column] = error.source().begin;
  const std::string_view whole = line_of(ascii, line);
  const std::string before = from_ascii(whole.substr(0, column - 1));
  const std::string_view rest = whole.substr(std::min<size_t>(column - 1, whole.size()));
  const bool sees_mark = rest.starts_with(kMark) || error.description().ends_with("saw '`'");
  const bool is_foreign = sees_mark && !std::ranges::all_of(from_ascii(whole), is_ascii);
  if (is_foreign)
    return user_error("{} is not TOML: a character outside of quotes is not ASCII", origin)
        .at(fmt::format("{}:{}", origin, line))
        .help("put keys and texts with such characters into quotes");
  const auto begins_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  };
  return user_error("{} is not TOML: {}", origin, from_ascii(error.description()))
      .at(fmt::format("{}:{}:{}", origin, line,
                      1 + std::ranges::count_if(before, begins_character)))
      .help(help);
}

}  // namespace

const TomlValue* TomlValue::find(std::string_view name) const {
  const auto found = std::ranges::find(entries, name, &std::pair<std::string, TomlValue>::first);
  return found == entries.end() ? nullptr : &found->second;
}

TomlValue parse_toml(std::string_view toml, const std::string& origin, const std::string& help) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (toml.starts_with(kByteOrderMark)) toml.remove_prefix(kByteOrderMark.size());
  if (const size_t valid = valid_prefix(toml); valid < toml.size())
    throw user_error("{} is not TOML: it is not UTF-8", origin)
        .at(fmt::format("{}:{}", origin, 1 + std::ranges::count(toml.substr(0, valid), '\n')))
        .help("write it as UTF-8");
  const std::string ascii = to_ascii(toml);
  check_dots(ascii, origin, help);
  try {
    return {.line = 1, .entries = entries_of(toml::parse(ascii, origin))};
  } catch (const toml::parse_error& error) {
    throw error_of(error, ascii, origin, help);
  }
}

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
