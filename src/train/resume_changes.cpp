// SPDX-License-Identifier: Apache-2.0
#include "train/resume_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "config/config_fields.h"
#include "config/group_fields.h"
#include "config/run_spec.h"
#include "core/choices.h"
#include "core/error.h"
#include "models/model_field.h"
#include "models/presets.h"

namespace tessera {
namespace {

// The numbers of a run do not follow from these. A key that is not listed may not change unseen.
constexpr std::array<std::string_view, 5> kFreeSections{"checkpoint.", "elastic.", "mesh", "plan.",
                                                        "run."};
constexpr std::array<std::string_view, 17> kFreeKeys{"train.steps",
                                                     "train.microbatches",
                                                     "train.eval_every",
                                                     "train.eval_batches",
                                                     "train.sample_every",
                                                     "train.log_every",
                                                     "train.threads",
                                                     "train.on_non_finite",
                                                     "data.tokenizer",
                                                     "data.cache",
                                                     "data.ahead",
                                                     "data.threads",
                                                     "model.init_deviation",
                                                     "lora.base",
                                                     "islands.hub",
                                                     "islands.keys",
                                                     "islands.patience_seconds"};

struct Setting {
  std::string key, text;
};

// Of tokens a tokenizer only shows the text; of text it makes the tokens.
bool makes_tokens(const Config& config) {
  return config.data.source == DataSource::Text || config.data.source == DataSource::Chat ||
         config.data.source == DataSource::Mixture;
}

bool may_change(std::string_view key, const Config& now) {
  if (key == "data.tokenizer" && makes_tokens(now)) return false;
  return std::find(kFreeKeys.begin(), kFreeKeys.end(), key) != kFreeKeys.end() ||
         std::any_of(kFreeSections.begin(), kFreeSections.end(),
                     [&](std::string_view section) { return key.starts_with(section); });
}

bool has_own_model(const Config& config) { return preset_name(config) == kOwnPreset; }

// Of a program's own model there is its name and a digest; of others, all fields.
std::vector<Setting> model_settings_of(const Config& config, bool by_name) {
  std::vector<Setting> settings;
  if (by_name) {
    for (const char* key : {"preset", "name", "maths"}) {
      const std::string* text = find_model_setting(config, key);
      settings.push_back({fmt::format("model.{}", key), text ? *text : ""});
    }
    return settings;
  }
  const ModelConfig model = resolve_model(config);
  for (const ModelField& field : model_fields())
    settings.push_back({fmt::format("model.{}", field.key), model_field_text(model, field)});
  return settings;
}

std::vector<Setting> settings_of(Config config, bool model_by_name) {
  std::vector<Setting> settings = model_settings_of(config, model_by_name);
  for (const ConfigField& field : config_fields(config))
    settings.push_back({std::string(field.key), field_text(field)});
  std::string mixture;
  for (const auto& [path, weight] : config.data.mixture)
    mixture += fmt::format("{}{} = {}", mixture.empty() ? "" : ", ", path, weight);
  settings.push_back({"data.mixture", mixture});
  std::string groups;
  for (const ParameterGroup& group : config.train.groups)
    groups += fmt::format("[{}] {}", group.pattern, group_text(group));
  std::ranges::replace(groups, '\n', ' ');
  settings.push_back({"train.group", groups});
  settings.push_back({"mesh", config.mesh.empty() ? "1" : to_string(Mesh(config.mesh))});
  return settings;
}

std::string shown(const std::string& text) { return text.empty() ? "empty" : text; }

bool accepts(std::span<const std::string> accepted, const std::string& key) {
  return std::any_of(accepted.begin(), accepted.end(), [&](const std::string& name) {
    return key == name || key.starts_with(name + ".");
  });
}

}  // namespace

std::vector<ConfigChange> resume_changes(const CheckpointFacts& saved, const Config& now) {
  const Config before = parse_config(saved.config_toml, "the checkpoint's config", {});
  const bool by_name = has_own_model(before) || has_own_model(now);
  const std::vector<Setting> old_settings = settings_of(before, by_name),
                             new_settings = settings_of(now, by_name);
  std::vector<ConfigChange> changes;
  for (size_t i = 0; i < new_settings.size(); ++i) {
    const auto& [key, text] = new_settings[i];
    const bool known = saved.position.step > 0 || key.starts_with("model.");
    if (known && text != old_settings[i].text)
      changes.push_back({key, old_settings[i].text, text, !may_change(key, now)});
  }
  return changes;
}

void require_accepted(std::span<const ConfigChange> changes,
                      std::span<const std::string> accepted) {
  std::vector<ConfigChange> refused;
  for (const ConfigChange& change : changes)
    if (change.changes_numbers && !accepts(accepted, change.key)) refused.push_back(change);
  if (refused.empty()) return;
  std::string keys;
  for (const ConfigChange& change : refused) keys += (keys.empty() ? "" : ",") + change.key;
  throw user_error("the checkpoint was saved with other settings: {}", to_text(refused))
      .help(fmt::format("give the same settings (config.toml in the output folder has them), or "
                        "accept the change with --accept-changes {}",
                        keys));
}

void check_accepted_names(std::span<const std::string> accepted) {
  Config config;
  std::vector<std::string> known;
  for (const bool by_name : {false, true})
    for (const Setting& setting : settings_of(config, by_name)) known.push_back(setting.key);
  for (const char* section : {"model", "data", "train"}) known.emplace_back(section);
  for (const std::string& name : accepted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest_name(name, known);
    throw user_error("{} is not a key of the config{}", name,
                     near.empty() ? "" : ": did you mean " + near + "?")
        .at("--accept-changes " + name)
        .help("name keys with commas, such as train.learning_rate,data.path, or a section");
  }
}

std::string to_text(std::span<const ConfigChange> changes) {
  std::string text;
  for (const ConfigChange& change : changes)
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", change.key, shown(change.before),
                        shown(change.now));
  return text;
}

}  // namespace tessera
