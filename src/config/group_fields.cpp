// SPDX-License-Identifier: Apache-2.0
#include "config/group_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config/config_fields.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr std::string_view kSection = "train.group", kPrefix = "train.group.";
constexpr Bounds kNumber{0, 1e18};

// A number, a yes or no, or, with neither, the optimizer.
struct GroupField {
  std::string_view name, default_value, doc;
  double& (*number)(ParameterGroup& group) = nullptr;
  bool ParameterGroup::*flag = nullptr;
};

constexpr GroupField kFields[] = {
    {"learning_rate_factor", "1",
     "of parameters whose full names match the pattern, such as \"layer.*.wq\" (*, ? and [] as in "
     "a "
     "glob; the first group that matches counts): what their learning rate is multiplied by",
     [](ParameterGroup& group) -> double& { return group.learning_rate_factor; }},
    {"weight_decay", "0.1",
     "their decoupled weight decay instead of train.weight_decay; norms and biases have none",
     [](ParameterGroup& group) -> double& { return group.weight_decay.emplace(); }},
    {"optimizer", "adamw", "what moves them instead of train.optimizer, with its default settings"},
    {"frozen", "false",
     "they stay as they are: no gradient is computed, no moments and no master weights are kept",
     nullptr, &ParameterGroup::frozen},
};

Choices optimizer_choices() {
  Choices names;
  for (const OptimizerDef& optimizer : optimizers()) names.push_back(name(optimizer.op));
  return names;
}

// A part of a key in quotes that a shell did not take off.
std::string unquoted(const std::string& part) {
  const bool quoted = part.size() > 2 && part.front() == '"' && part.back() == '"';
  return quoted ? part.substr(1, part.size() - 2) : part;
}

void set(const GroupField& field, const ConfigValue& value, ParameterGroup& group) {
  if (field.number) {
    set_field({value.key, &field.number(group), kNumber, field.doc}, value.text, value.place);
    return;
  }
  if (field.flag) {
    set_field({value.key, &(group.*field.flag), {}, field.doc}, value.text, value.place);
    return;
  }
  std::string chosen;
  set_field({value.key, &chosen, optimizer_choices(), field.doc}, value.text, value.place);
  group.op = find_optimizer(chosen)->op;
}

}  // namespace

bool apply_group(const ConfigValue& value, std::vector<ParameterGroup>& groups) {
  if (value.key != kSection && !value.key.starts_with(kPrefix)) return false;
  const size_t dot = value.key.rfind('.'), begin = kPrefix.size();
  const std::string pattern = dot < begin ? "" : unquoted(value.key.substr(begin, dot - begin));
  const auto* field = std::ranges::find(kFields, value.key.substr(dot + 1), &GroupField::name);
  if (pattern.empty() || field == std::end(kFields))
    throw user_error("{} is no key of a parameter group", value.key)
        .at(value.place)
        .help(R"(write [train.group."PATTERN"] with learning_rate_factor, weight_decay, optimizer )"
              R"(or frozen: [train.group."*.wq"] and weight_decay = 0)");
  auto group = std::ranges::find(groups, pattern, &ParameterGroup::pattern);
  if (group == groups.end()) group = groups.insert(group, {.pattern = pattern});
  set(*field, value, *group);
  return true;
}

std::string group_text(const ParameterGroup& group) {
  std::string text = fmt::format("learning_rate_factor = {}\n", group.learning_rate_factor);
  if (group.weight_decay) text += fmt::format("weight_decay = {}\n", *group.weight_decay);
  if (group.op) text += fmt::format("optimizer = \"{}\"\n", name(*group.op));
  if (group.frozen) text += "frozen = true\n";
  return text;
}

std::vector<ConfigKey> group_keys() {
  std::vector<ConfigKey> keys;
  for (const GroupField& field : kFields)
    keys.push_back({fmt::format("{}<pattern>.{}", kPrefix, field.name),
                    std::string(field.default_value),
                    field.number ? "a number of at least 0"
                    : field.flag ? "true or false"
                                 : fmt::format("{}", fmt::join(optimizer_choices(), ", ")),
                    std::string(field.doc)});
  return keys;
}

}  // namespace tessera
