// SPDX-License-Identifier: Apache-2.0
#include "config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/config_fields.h"
#include "config/config_values.h"
#include "config/group_fields.h"
#include "config/island_config.h"
#include "config/lora_fields.h"
#include "config/other_words.h"
#include "core/choices.h"
#include "core/error.h"
#include "files/mapped_file.h"
#include "files/toml_document.h"
#include "mesh/axes.h"
#include "mesh/axis_sizes.h"
#include "mesh/plan.h"
#include "models/presets.h"

namespace tessera {
namespace {

constexpr Bounds kMixtureWeight{1e-9, 1e9};

bool is_model_key(std::string_view key) { return key.starts_with("model.") || key == "model"; }

[[noreturn]] void unknown_key(const ConfigValue& value, const std::vector<ConfigField>& fields) {
  std::vector<std::string> known{"model.preset"};
  for (const ConfigField& field : fields) known.emplace_back(field.key);
  std::string near = nearest_name(value.key, known);
  // A key without its section is the commonest slip: steps for train.steps.
  for (const std::string& key : known)
    if (key.ends_with("." + value.key)) near = key;
  if (const std::string ours = our_key(value.key); !ours.empty()) near = ours;
  throw user_error("unknown key {}{}", value.key,
                   near.empty() ? "" : ": did you mean " + near + "?")
      .at(value.place)
      .help("`tessera docs config` lists all keys");
}

// mesh = "dp=2,tp=2" replaces the whole mesh; mesh.dp = 2 sets or appends one axis.
bool apply_mesh(const ConfigValue& value, Config& config) {
  if (value.key != "mesh" && !value.key.starts_with("mesh.")) return false;
  try {
    if (value.key == "mesh") {
      config.mesh = parse_mesh(value.text);
    } else {
      const Axis axis = parse_mesh(value.key.substr(5) + "=" + value.text).front();
      const auto known = std::find_if(config.mesh.begin(), config.mesh.end(),
                                      [&](const Axis& a) { return a.name == axis.name; });
      if (known == config.mesh.end())
        config.mesh.push_back(axis);
      else
        known->size = axis.size;
    }
  } catch (UserError& error) {
    throw UserError(error).at(value.place);
  }
  return true;
}

bool apply_plan_dims(const ConfigValue& value, Config& config) {
  constexpr std::string_view kPrefix = "plan.dims.";
  if (!value.key.starts_with(kPrefix)) return false;
  std::vector<std::string> dims;
  for (std::string_view rest = value.text; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    dims.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const std::string axis = value.key.substr(kPrefix.size());
  auto& all = config.plan_dims;
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == axis; });
  if (known == all.end())
    all.emplace_back(axis, std::move(dims));
  else
    known->second = std::move(dims);
  return true;
}

// data.mixture."web.bin" = 0.7 sets or appends one source.
bool apply_mixture(const ConfigValue& value, Config& config) {
  constexpr std::string_view kPrefix = "data.mixture.";
  if (value.key == "data.mixture" || value.key == kPrefix)
    throw user_error("data.mixture is {}, but must be paths with weights", value.text)
        .at(value.place)
        .help(R"(write [data.mixture] and a line per source, such as "web/*.bin" = 0.7)");
  if (!value.key.starts_with(kPrefix)) return false;
  double weight = 0;
  set_field({value.key, &weight, kMixtureWeight, "the source's weight in the mixture"}, value.text,
            value.place);
  const std::string path = value.key.substr(kPrefix.size());
  auto& mixture = config.data.mixture;
  const auto known = std::find_if(mixture.begin(), mixture.end(),
                                  [&](const auto& source) { return source.first == path; });
  if (known == mixture.end())
    mixture.emplace_back(path, weight);
  else
    known->second = weight;
  return true;
}

void apply(const ConfigValue& value, Config& config) {
  if (apply_mesh(value, config) || apply_plan_dims(value, config) || apply_mixture(value, config) ||
      apply_group(value, config.train.groups))
    return;
  if (is_model_key(value.key)) {
    config.model.emplace_back(value.key == "model" ? "preset" : value.key.substr(6), value.text);
    return;
  }
  const std::vector<ConfigField> fields = config_fields(config);
  const auto field = std::find_if(fields.begin(), fields.end(),
                                  [&](const ConfigField& f) { return f.key == value.key; });
  if (field == fields.end()) unknown_key(value, fields);
  set_field(*field, value.text, value.place);
}

// The optimizer must be known before its settings are applied: each has defaults of its own.
void apply_optimizer_defaults(std::span<const ConfigValue> values, Config& config) {
  for (const ConfigValue& value : values)
    if (value.key == "train.optimizer") apply(value, config);
  config.train.optimizer_settings = default_settings(*find_optimizer(config.train.optimizer));
}

// Of the model that it names; what is not known is refused later.
bool has_sequence(const Config& config) {
  if (const std::string* family = find_model_setting(config, "family")) {
    const FamilyRow* row = find_family(*family);
    return !row || row->has_sequence;
  }
  const Preset* preset = preset_named(preset_name(config));
  return !preset || preset->config.has_sequence();
}

void resolve_source(Config& config) {
  DataConfig& data = config.data;
  if (data.source == DataSource::Auto) {
    data.source = !has_sequence(config)   ? DataSource::Regression
                  : !data.mixture.empty() ? DataSource::Mixture
                  : data.path.empty()     ? DataSource::Stories
                                          : source_of_path(data.path);
  }
  if ((data.source == DataSource::Mixture) == data.mixture.empty())
    throw user_error("data.source is {}, but data.mixture lists {} sources", name(data.source),
                     data.mixture.size())
        .at("data.source")
        .help("use data.source=mixture with a [data.mixture], or neither");
  const bool reads_files = data.source == DataSource::Text || data.source == DataSource::Chat ||
                           data.source == DataSource::Tokens;
  if (reads_files && data.path.empty())
    throw user_error("data.source is {}, but data.path is empty", name(data.source))
        .at("data.path")
        .help("give a path, or data.source=stories for built-in text");
  if (!reads_files && !data.path.empty())
    throw user_error("data.source is {}, which reads no data.path, but that is {}",
                     name(data.source), data.path)
        .at("data.source")
        .help("leave data.path out, or data.source (and data.mixture)");
  if (data.source != DataSource::Chat) return;
  data.document_mask = true;  // conversations never see each other, and stay whole
  data.packing = Packing::BestFit;
}

void check_together(const Config& config) {
  const TrainConfig& train = config.train;
  if (train.batch % train.microbatches != 0)
    throw user_error("cannot split a batch of {} samples into {} microbatches", train.batch,
                     train.microbatches)
        .at("train.microbatches")
        .help("train.batch must be a multiple of train.microbatches");
  check_islands(config);
  check_lora(config.lora);
  if (config.data.packing == Packing::BestFit && !config.data.document_mask)
    throw user_error("data.packing is best_fit, but documents would see each other")
        .at("data.packing")
        .help("set data.document_mask=true");
  if (config.run.out.empty())
    throw user_error("run.out is empty").at("run.out").help("give a folder, such as run.out=out");
}

}  // namespace

Config parse_config(std::string_view toml, const std::string& origin,
                    std::span<const std::string> overrides, std::span<const std::string> base) {
  std::vector<ConfigValue> values;
  for (const std::string& assignment : base) values.push_back(value_from_override(assignment));
  for (ConfigValue& value : values_from_toml(toml, origin)) values.push_back(std::move(value));
  for (const std::string& assignment : overrides) values.push_back(value_from_override(assignment));

  Config names;  // the preset must be known before the rest is applied
  for (const ConfigValue& value : values)
    if (is_model_key(value.key)) apply(value, names);
  const std::string preset = preset_name(names);

  Config config;
  if (const Preset* known = preset_named(preset))
    for (const auto& [key, text] : known->training)
      apply({std::string(key), std::string(text), "preset " + preset}, config);
  apply_optimizer_defaults(values, config);
  for (const ConfigValue& value : values) apply(value, config);
  if (find_model_setting(config, "preset") == nullptr)
    config.model.insert(config.model.begin(), {"preset", preset});
  resolve_source(config);
  check_together(config);
  return config;
}

Config load_config(const std::optional<std::filesystem::path>& file,
                   std::span<const std::string> overrides, std::span<const std::string> base) {
  if (!file) return parse_config("", "defaults", overrides, base);
  const MappedFile mapped(*file);
  const auto bytes = mapped.bytes();
  return parse_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file->string(),
                      overrides, base);
}

DataSource source_of_path(std::string_view path) {
  return path.ends_with(".bin") || path.ends_with(".idx") ? DataSource::Tokens : DataSource::Text;
}

const std::string* find_model_setting(const Config& config, std::string_view key) {
  const std::string* found = nullptr;
  for (const auto& [name, text] : config.model)
    if (name == key) found = &text;
  return found;
}

std::string preset_name(const Config& config) {
  const std::string* name = find_model_setting(config, "preset");
  return name != nullptr ? *name : "tiny";
}

std::string model_name(const Config& config) {
  const std::string* own = find_model_setting(config, "name");
  return own != nullptr ? *own : preset_name(config);
}

std::string to_toml(const Config& config) {
  Config copy = config;
  std::string text = "[model]\n";
  std::vector<std::string_view> written;
  for (const auto& [key, unused] : config.model) {
    if (std::find(written.begin(), written.end(), key) != written.end()) continue;
    written.push_back(key);
    text += fmt::format("{} = {}\n", toml_key(key), toml_value(*find_model_setting(config, key)));
  }
  if (!config.mesh.empty()) text += "\n[mesh]\n";
  for (const Axis& axis : config.mesh)
    text += fmt::format("{} = {}\n", toml_key(axis.name), axis.size);
  std::string section = "model";
  for (const ConfigField& field : config_fields(copy)) {
    const size_t dot = field.key.find('.');
    if (field.key.substr(0, dot) != section) {
      section = field.key.substr(0, dot);
      text += fmt::format("\n[{}]\n", section);
    }
    const bool quoted = std::holds_alternative<std::string*>(field.value) ||
                        std::holds_alternative<uint8_t*>(field.value);
    const std::string value = field_text(field);
    text +=
        fmt::format("{} = {}\n", field.key.substr(dot + 1), quoted ? toml_string(value) : value);
  }
  if (!config.data.mixture.empty()) text += "\n[data.mixture]\n";
  for (const auto& [path, weight] : config.data.mixture)
    text += fmt::format("{} = {}\n", toml_string(path), weight);
  for (const ParameterGroup& group : config.train.groups)
    text += fmt::format("\n[train.group.{}]\n{}", toml_string(group.pattern), group_text(group));
  if (!config.plan_dims.empty()) text += "\n[plan.dims]\n";
  for (const auto& [axis, dims] : config.plan_dims)
    text += fmt::format("{} = {}\n", toml_key(axis),
                        toml_string(fmt::format("{}", fmt::join(dims, ","))));
  return text;
}

std::vector<ConfigKey> config_keys() {
  Config defaults;
  std::vector<ConfigKey> keys;
  for (const ConfigField& field : config_fields(defaults))
    keys.push_back(
        {std::string(field.key), field_text(field), allowed_text(field), std::string(field.doc)});
  return keys;
}

std::vector<ConfigKey> table_keys() {
  std::vector<ConfigKey> keys{
      {"data.mixture.<path>", "", "a number from 1e-09 to 1000000000",
       "weight of a text file or folder, or of token shards by glob: its share of the samples"},
      {"mesh", "", "axes with sizes, such as dp=2,tp=4",
       "ranks by axis; the last one varies fastest; empty: one rank (--mesh)"}};
  for (const ConfigKey& key : group_keys()) keys.insert(keys.end() - 1, key);
  for (const AxisRow& row : kAxes)
    keys.push_back({fmt::format("mesh.{}", row.name), "1", "a whole number of at least 1",
                    fmt::format("ranks that split {}", row.summary)});
  for (const AxisRow& row : kAxes)
    if (!row.dims().empty())
      keys.push_back(
          {fmt::format("plan.dims.{}", row.name), fmt::format("{}", fmt::join(row.dims(), ",")),
           "names of dims: a list of texts, or one text with commas",
           fmt::format("dims that {} may split: each op splits the first of these that it has",
                       row.name)});
  return keys;
}

std::vector<std::string> notes_on(const Config& config) {
  std::vector<std::string> notes;
  const Mesh mesh(config.mesh);
  const bool pipeline = sizes_of(config.mesh)[AxisKind::Pp] > 1;
  if (config.plan.schedule != PlanConfig{}.schedule && !pipeline)
    notes.push_back(fmt::format("plan.schedule = {} does nothing: the mesh {} has no pipeline (pp)",
                                config.plan.schedule, to_string(mesh)));
  if (config.own_model && config.train.sample_every > 0)
    notes.push_back(fmt::format(
        "train.sample_every = {} does nothing: the model {} is the program's own, which writes no "
        "text",
        config.train.sample_every, model_name(config)));
  return notes;
}

}  // namespace tessera
