// SPDX-License-Identifier: Apache-2.0
// A config as a flat list of keys and texts, before any key is known: the step between TOML and the
// structs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ConfigValue {
  std::string key;  // "train.steps"
  std::string text;
  std::string place;  // "demo.toml:3" or "--set train.steps=10"
};

std::vector<ConfigValue> values_from_toml(std::string_view toml, const std::string& origin);
ConfigValue value_from_override(const std::string& assignment);

// `text` as a TOML value that reads back to it: a number or a boolean as it stands, all else
// quoted.
std::string toml_value(const std::string& text);

}  // namespace tessera
