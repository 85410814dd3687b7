// SPDX-License-Identifier: Apache-2.0
// A TOML text as values that know their lines. toml_document.cpp alone includes the library that
// reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

struct TomlValue {
  enum class Kind { Text, Integer, Number, Flag, Date, List, Table };

  Kind kind = Kind::Table;
  int line = 0;  // 0: made, not read
  std::string text = {};
  int64_t integer = 0;
  double number = 0;  // of an Integer, too
  bool flag = false;
  std::vector<TomlValue> items = {};                            // of a List
  std::vector<std::pair<std::string, TomlValue>> entries = {};  // of a Table, as they stand there

  const TomlValue* find(std::string_view name) const;  // of a Table
};

// The table that the text is. Where it is none, a UserError names `origin` and the line, with
// `help`.
TomlValue parse_toml(std::string_view toml, const std::string& origin, const std::string& help);

// Texts as TOML that reads back to them.
std::string toml_string(const std::string& text);
// `name` as a key: in quotes where it holds more than letters, digits, '_' and '-'.
std::string toml_key(const std::string& name);

}  // namespace tessera
