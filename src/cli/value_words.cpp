// SPDX-License-Identifier: Apache-2.0
// What shells offer for the value of an option: its choices, those of the config key that it is
// short for, names of models and clusters, files, folders.
#include <fmt/format.h>

#include "cli/command_table.h"
#include "config/config_fields.h"
#include "models/presets.h"
#include "sim/cluster.h"

namespace tessera {
namespace {

// "where to run (run.device)" is short for run.device.
std::string key_in(const std::string& doc) {
  const size_t open = doc.rfind('(');
  if (open == std::string::npos || !doc.ends_with(')')) return {};
  return doc.substr(open + 1, doc.size() - open - 2);
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.emplace_back(preset.name);
  return names;
}

std::vector<std::string> words_of_key(std::string_view wanted) {
  if (wanted == "model.preset") return preset_names();
  for (const KeyWords& row : key_words())
    if (row.key == wanted) return row.words;
  return {};
}

}  // namespace

std::vector<KeyWords> key_words() {
  Config defaults;
  std::vector<KeyWords> rows;
  for (const ConfigField& field : config_fields(defaults)) {
    KeyWords row{.key = std::string(field.key), .words = {}};
    if (const Choices* names = std::get_if<Choices>(&field.allowed))
      row.words.assign(names->begin(), names->end());
    if (std::holds_alternative<bool*>(field.value)) row.words = {"true", "false"};
    if (row.key == "model.preset") row.words = preset_names();
    rows.push_back(std::move(row));
  }
  return rows;
}

ValueWords value_words(const OptionRow& option) {
  ValueWords words{.words = option.choices};
  const std::string& value = option.value;
  const std::string& name = option.names.front();
  if (words.words.empty()) words.words = words_of_key(key_in(option.doc));
  if (name == "--cluster" || name == "cluster") words.words = cluster_names();
  // A position without a name for its kind of value is a file or a folder nearly everywhere.
  const bool unnamed = option.position && (value == "TEXT" || value.empty());
  words.files = value.find("FILE") != std::string::npos || (unnamed && option.choices.empty());
  words.folders = value == "FOLDER" || name == "--out";
  return words;
}

}  // namespace tessera
