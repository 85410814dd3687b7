// SPDX-License-Identifier: Apache-2.0
// The table of all keys: where each lives, what it may be, and its line of documentation.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.h"

namespace tessera {

// Inclusive bounds; text such as "0 <= x < 1" is made from them.
struct Bounds {
  double low, high;
};
using Choices = std::vector<std::string_view>;

inline constexpr double kAny = 1e18;
inline constexpr Bounds kPositive{1, kAny};
inline constexpr Bounds kNotNegative{0, kAny};
inline constexpr Bounds kBelowOne{0, 0.999999999};

// Of an enum whose names are the field's choices, in its order.
template <typename Enum>
uint8_t* byte_of(Enum& value) {
  static_assert(std::is_enum_v<Enum> && sizeof(Enum) == sizeof(uint8_t));
  return reinterpret_cast<uint8_t*>(&value);
}
template <typename Names>
Choices choices(const Names& names) {
  return {names.begin(), names.end()};
}

struct ConfigField {
  std::string_view key;  // "train.steps"
  // A byte is an enum: the number of one of the choices.
  std::variant<int64_t*, double*, bool*, std::string*, uint8_t*> value;
  std::variant<std::monostate, Bounds, Choices> allowed;
  std::string_view doc;
};

// The fields of this config, in the order they are printed.
std::vector<ConfigField> config_fields(Config& config);
std::vector<ConfigField> data_fields(DataConfig& config);
std::vector<ConfigField> elastic_fields(ElasticConfig& elastic);  // of one section

// Parses and checks; `place` is where the text stood. Throws a UserError.
void set_field(const ConfigField& field, const std::string& text, const std::string& place);
std::string field_text(const ConfigField& field);    // as set_field reads it
std::string allowed_text(const ConfigField& field);  // "a whole number from 1 to 100"

}  // namespace tessera
