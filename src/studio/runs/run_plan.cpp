// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/run_plan.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "config/config_fields.h"
#include "record/run_facts.h"
#include "studio/runs/run_files.h"

namespace tessera {
namespace {

constexpr int64_t kMostPlanBytes = 1 << 20;
constexpr const char *kConfigFile = "config.toml", *kClusterFile = "cluster.toml";

std::optional<std::string> read_whole(const FoundRun& run, const char* name) {
  std::optional<std::string> text = run.folder.read(name, 0, kMostPlanBytes + 1);
  if (text && static_cast<int64_t>(text->size()) > kMostPlanBytes)
    throw user_error("{} of the run is larger than 1 MB", name)
        .at(run.name)
        .help("look into the folder: it is not what `tessera train` wrote");
  return text;
}

Config config_of(const FoundRun& run) {
  const std::optional<std::string> text = read_whole(run, kConfigFile);
  if (!text)
    throw user_error("the run has no {}", kConfigFile)
        .at(run.name)
        .help("its plan is not known without: a run of `tessera train` writes one");
  return parse_config(*text, kConfigFile, {});
}

// What the record says of the machine. A UserError where it was none.
std::string device_of(const FoundRun& run) {
  std::string device;
  bool simulated = false;
  read_lines(run.folder, kEventsFile, 0, [&](std::string_view line) {
    const std::optional<Json> event = line_object(line);
    const Json* json = event ? event->find("facts") : nullptr;
    const std::optional<RunFacts> facts = json ? facts_of_json(*json) : std::nullopt;
    if (facts) device = facts->device;
    simulated = facts && facts->source == "simulate";
    return !facts;
  });
  if (simulated)
    throw UserError("the run is a simulation: it has one clock alone")
        .at(run.name)
        .help("choose a run of `tessera train --trace`");
  return device;
}

// "H100" of "H100 SXM5 80 GB", "H200" of "NVIDIA H200".
std::string model_word(std::string_view device) {
  constexpr std::string_view kMaker = "NVIDIA ";
  if (device.starts_with(kMaker)) device.remove_prefix(kMaker.size());
  return std::string(device.substr(0, device.find(' ')));
}

// Words of a cluster's device that a GPU's own name has, too: "A100 SXM4 80 GB", "NVIDIA
// A100-SXM4-80GB". None where it is another model.
int words_in_common(const std::string& known, const std::string& device) {
  if (device.find(model_word(known)) == std::string::npos) return 0;
  int common = 0;
  std::istringstream words(known);
  for (std::string word; words >> word;) common += device.find(word) != std::string::npos;
  return common;
}

using Texts = std::map<std::string, std::string>;

// What the compiler reads of a config.
Texts plan_texts(Config config) {
  constexpr auto kOfStep = std::to_array<std::string_view>(
      {"train.batch", "train.seq", "train.microbatches", "train.precision", "train.optimizer",
       "train.clip_norm", "train.ema_decay", "train.threads"});
  Texts texts;
  for (const ConfigField& field : config_fields(config))
    if (field.key.starts_with("plan.") || std::ranges::count(kOfStep, field.key) > 0)
      texts[std::string(field.key)] = field_text(field);
  for (const auto& [axis, dims] : config.plan_dims)
    texts["plan.dims." + axis] = fmt::format("{}", fmt::join(dims, ","));
  for (const auto& [key, text] : config.model)
    if (key != "preset") texts["model." + key] = text;
  if (!config.mesh.empty()) texts["mesh"] = to_string(Mesh(config.mesh));
  return texts;
}

// Those that differ from what a line without them means.
Json settings_beyond_defaults(const Config& config, const std::string& cluster) {
  std::vector<std::string> overrides{"model.preset=" + preset_name(config)};
  for (const auto& [key, value] : defaults_on(load_cluster(cluster)))
    overrides.push_back(fmt::format("{}={}", key, value));
  const Texts usual = plan_texts(load_config({}, overrides));
  Json set = Json::object();
  for (const auto& [key, text] : plan_texts(config)) {
    const auto found = usual.find(key);
    if (found == usual.end() || found->second != text) set[key] = text;
  }
  return set;
}

// In the run's folder under the name that its config gives, or the usual one.
std::string trace_name(const Config& config) {
  const std::filesystem::path trace(config.run.trace), out(config.run.out);
  const bool inside = trace.has_filename() && trace.parent_path().lexically_normal() ==
                                                  (out / "").parent_path().lexically_normal();
  return inside ? trace.filename().string() : "trace.json";
}

}  // namespace

std::string fitting_cluster(const Config& config, const std::string& device) {
  if (config.run.device == DeviceKind::Cpu) return "laptop";
  std::string fits;
  int most = -1;
  for (const std::string& name : cluster_names()) {
    const Cluster cluster = load_cluster(name);
    if (cluster.device.cores > 0 || cluster.levels.back().ranks < Mesh(config.mesh).num_ranks())
      continue;
    const int common = words_in_common(cluster.device.name, device);
    if (common <= most) continue;
    most = common;
    fits = name;
  }
  return fits.empty() ? "llama3-h100" : fits;
}

RunPlan plan_of(const FoundRun& run) {
  const Config config = config_of(run);
  const std::string fitting = fitting_cluster(config, device_of(run));
  RunPlan plan{.run = {{"model", preset_name(config)},
                       {"cluster", fitting},
                       {"set", settings_beyond_defaults(config, fitting)}},
               .asked = {},
               .cluster = fitting + ", built in",
               .trace = trace_name(config)};
  plan.asked = asked_run({.fields = {{"run", plan.run}}});
  if (const std::optional<std::string> own = read_whole(run, kClusterFile)) {
    plan.asked.cluster = parse_cluster(*own, kClusterFile);
    plan.cluster = fmt::format("{} of the run", kClusterFile);
  }
  return plan;
}

}  // namespace tessera
