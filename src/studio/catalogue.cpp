// SPDX-License-Identifier: Apache-2.0
// What there is to choose from: keys of a config, presets, clusters.
#include "config/config_fields.h"
#include "mesh/axes.h"
#include "models/model_field.h"
#include "models/model_size.h"
#include "models/presets.h"
#include "studio/asked_run.h"
#include "studio/cluster_json.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"

namespace tessera {
namespace {

// Of the variant of a field, in its order.
constexpr std::array<std::string_view, 5> kFieldTypes{"whole", "number", "flag", "text", "choice"};

Json key_json(const ConfigField& field) {
  Json json{{"key", field.key},
            {"type", kFieldTypes[field.value.index()]},
            {"default", field_text(field)},
            {"allowed", allowed_text(field)},
            {"help", field.doc},
            {"flag", short_flag(field.key)}};
  if (const auto* bounds = std::get_if<Bounds>(&field.allowed)) {
    json["low"] = bounds->low;
    json["high"] = bounds->high;
  }
  if (const auto* choices = std::get_if<Choices>(&field.allowed)) {
    json["type"] = "choice";
    json["choices"] = *choices;
  }
  return json;
}

struct ModelFieldJson {
  Json json;

  void operator()(const WholeField& whole) {
    json["type"] = "whole";
    json["low"] = whole.lowest;
    json["high"] = whole.highest;
  }
  void operator()(const RealField& real) {
    json["type"] = "number";
    json["low"] = real.lowest;
    json["high"] = real.highest;
  }
  void operator()(bool ModelConfig::*) { json["type"] = "flag"; }
  void operator()(Family ModelConfig::*) {
    json["type"] = "choice";
    json["choices"] = Json::array();
    for (const FamilyRow& row : kFamilies)
      if (!row.is_own) json["choices"].push_back(row.name);
  }
  void operator()(Activation ModelConfig::*) { take(activation_names()); }
  void operator()(RouterScore ModelConfig::*) { take(router_score_names()); }
  void operator()(BalanceScope ModelConfig::*) { take(balance_scope_names()); }
  void operator()(RopeScaling ModelConfig::*) { take(rope_scaling_names()); }

  void take(std::span<const std::string_view> names) {
    json["type"] = "choice";
    json["choices"] = std::vector<std::string_view>(names.begin(), names.end());
  }
};

Json preset_json(const Preset& preset) {
  const ModelConfig model = resolved(preset.config);
  Json fields = Json::object(), training = Json::object();
  for (const ModelField& field : model_fields()) fields[field.key] = model_field_text(model, field);
  for (const PresetSetting& setting : preset.training) training[setting.key] = setting.text;
  return {{"name", preset.name},
          {"summary", preset.summary},
          {"family", name(model.family)},
          {"parameters", parameter_count(model)},
          {"matmul_parameters", matmul_parameter_count(model)},
          {"fields", fields},
          {"training", training}};
}

}  // namespace

Answer answer_keys(const Question& question) {
  require_known_fields(question.fields, {});
  Json keys = Json::array();
  for (const ModelField& field : model_fields()) {
    ModelFieldJson row{{{"key", fmt::format("model.{}", field.key)}, {"help", field.doc}}};
    std::visit(row, field.kind);
    keys.push_back(std::move(row.json));
  }
  Config defaults;
  for (const ConfigField& field : config_fields(defaults)) keys.push_back(key_json(field));
  for (const ConfigKey& key : table_keys())
    keys.push_back({{"key", key.key},
                    {"type", "text"},
                    {"default", key.default_value},
                    {"allowed", key.allowed},
                    {"help", key.doc},
                    {"flag", short_flag(key.key)}});
  Json axes = Json::array();
  for (const AxisRow& row : kAxes)
    axes.push_back({{"name", row.name},
                    {"summary", row.summary},
                    {"splits_data", row.splits_data},
                    {"shards_states", row.shards_states},
                    {"wants_near", row.wants_near}});
  return {{{"keys", keys}, {"axes", axes}}};
}

Answer answer_presets(const Question& question) {
  require_known_fields(question.fields, {});
  Json all = Json::array();
  for (const Preset& preset : presets()) all.push_back(preset_json(preset));
  return {{{"presets", all}}};
}

Answer answer_clusters(const Question& question) {
  require_known_fields(question.fields, {});
  Json all = Json::array();
  for (const std::string& name : cluster_names()) all.push_back(to_json(load_cluster(name)));
  return {{{"clusters", all}}};
}

}  // namespace tessera
