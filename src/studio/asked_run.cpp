// SPDX-License-Identifier: Apache-2.0
#include "studio/asked_run.h"

#include <algorithm>
#include <array>

#include "core/choices.h"
#include "studio/question_fields.h"

namespace tessera {
namespace {

constexpr size_t kMostSettings = 256;
// Of a step, summed over stages: what a script lists must stay within a second and some memory.
constexpr int64_t kMostCalls = 400'000;

constexpr auto kShortFlags = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"model.preset", "--model"},
    {"mesh", "--mesh"},
    {"train.batch", "--batch"},
    {"train.seq", "--seq"},
    {"train.microbatches", "--microbatches"},
    {"train.precision", "--precision"},
    {"plan.zero", "--zero"},
    {"plan.schedule", "--schedule"},
    {"plan.recompute", "--recompute"},
});

// A question names no file, so that a page cannot make us open one.
Cluster named_cluster(const std::string& name) {
  const std::vector<std::string> names = cluster_names();
  if (std::ranges::count(names, name) == 0)
    throw user_error("there is no cluster {}", name)
        .at("--cluster " + name)
        .help(fmt::format("use {}", join_choices(names)));
  return load_cluster(name);
}

std::vector<std::pair<std::string, std::string>> read_settings(const Json& run) {
  std::vector<std::pair<std::string, std::string>> settings;
  const Json* set = run.find("set");
  if (!set) return settings;
  if (!set->is_object() || set->members().size() > kMostSettings)
    throw user_error("the run's set is no object of at most {} settings", kMostSettings)
        .at("set")
        .help(R"(give keys with texts, such as {"train.batch": "512"})");
  for (const JsonMember& member : set->members()) {
    const std::optional<std::string> text = find_text(*set, member.name);
    if (member.name == "plan.actions" && !text->empty())
      throw UserError("plan.actions names a file, which a question may not")
          .at("--set plan.actions=" + *text)
          .help("use one of the built-in schedules, or the command line");
    settings.emplace_back(member.name, *text);
  }
  return settings;
}

Config load_settings(const AskedRun& run) {
  std::vector<std::string> overrides;
  const auto add = [&](const std::string& key, const std::string& value) {
    overrides.push_back(fmt::format("{}={}", key, value));
  };
  for (const auto& [key, value] : defaults_on(run.cluster)) add(key, value);
  for (const auto& [key, value] : run.settings) add(key, value);
  if (!run.model.empty()) add("model.preset", run.model);
  return load_config({}, overrides);
}

void check_calls(const Config& config) {
  const ModelConfig model = resolve_model(config);
  const int64_t calls = (model.layers + 2) * config.train.microbatches;
  if (calls > kMostCalls)
    throw user_error("a step of {} layers and {} microbatches is too long to answer at once",
                     model.layers, config.train.microbatches)
        .at("train.microbatches")
        .help(fmt::format("use at most {} microbatches", kMostCalls / (model.layers + 2)));
}

// In single quotes where the shell would read more into it.
std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789=,._-+:/@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

}  // namespace

std::string_view short_flag(std::string_view key) {
  for (const auto& [known, flag] : kShortFlags)
    if (known == key) return flag;
  return {};
}

bool AskedRun::names(std::string_view key) const {
  return std::ranges::any_of(settings, [&](const auto& setting) { return setting.first == key; });
}

AskedRun AskedRun::without(const std::function<bool(std::string_view)>& left_out) const {
  AskedRun other = *this;
  std::erase_if(other.settings, [&](const auto& setting) { return left_out(setting.first); });
  other.config = load_settings(other);
  return other;
}

AskedRun AskedRun::with_mesh_text(const std::string& mesh) const {
  AskedRun other = *this;
  std::erase_if(other.settings, [](const auto& setting) {
    return setting.first == "mesh" || setting.first.starts_with("mesh.");
  });
  other.settings.emplace_back("mesh", mesh);
  other.config = load_settings(other);
  return other;
}

AskedRun asked_run(const Question& question) {
  const Json defaults = Json::object();
  const Json* run = question.fields.find("run");
  if (!run) run = &defaults;
  if (!run->is_object())
    throw UserError("the question's run is no object")
        .at("run")
        .help(R"(give {"model": "llama3-8b", "cluster": "dgx-h100", "set": {}})");
  require_known_fields(*run, {"model", "cluster", "set"});
  AskedRun asked;
  asked.cluster = named_cluster(find_text(*run, "cluster").value_or("laptop"));
  asked.model = find_text(*run, "model").value_or("");
  asked.settings = read_settings(*run);
  asked.config = load_settings(asked);
  check_calls(asked.config);
  return asked;
}

std::string flags_of(const AskedRun& run, bool with_cluster) {
  std::string text;
  if (with_cluster) text += " --cluster " + run.cluster.name;
  if (!run.model.empty()) text += " --model " + shell_word(run.model);
  const bool mesh_by_axis = std::ranges::any_of(
      run.settings, [](const auto& setting) { return setting.first.starts_with("mesh."); });
  for (const auto& [key, value] : run.settings) {
    const std::string_view flag = short_flag(key);
    const bool in_order = key == "model.preset" || (key == "mesh" && mesh_by_axis);
    text += flag.empty() || in_order
                ? fmt::format(" --set {}", shell_word(fmt::format("{}={}", key, value)))
                : fmt::format(" {} {}", flag, shell_word(value));
  }
  return text;
}

}  // namespace tessera
