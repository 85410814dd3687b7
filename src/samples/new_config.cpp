// SPDX-License-Identifier: Apache-2.0
#include "samples/new_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "config/config_fields.h"
#include "config/config_values.h"
#include "core/error.h"
#include "core/quantities.h"
#include "files/toml_document.h"
#include "jobs/job_script.h"
#include "models/model_size.h"
#include "models/presets.h"
#include "samples/config_text.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"
#include "studio/run_on_cluster.h"

namespace tessera {
namespace {

constexpr double kTokensPerParameter = 20;
constexpr std::string_view kWeights = "base";
constexpr int64_t kFewestSaves = 10;  // in a run

// A config that is being written: its text, and what it says.
struct Draft {
  const ConfigOrder& order;
  SampleConfig sample;
  Cluster cluster;
  int ranks = 1;
  std::string text = {};
  Config config = {};

  bool names(std::string_view key) const {
    return std::ranges::any_of(order.settings, [&](const std::string& setting) {
      const std::string named = value_from_override(setting).key;
      return named == key || named.starts_with(fmt::format("{}.", key));
    });
  }
  bool is_samples_model() const {
    return preset_name(config) == sample.model && config.model.size() == 1;
  }
  void read() { config = parse_config(text, "the new config", {}); }
  void set(const std::string& key, const std::string& value, const std::string& why = "") {
    text = with_value(text, {.key = key, .value = value, .why = why});
  }
};

// As it was named: a file may have another name inside.
const std::string& cluster_word(const Draft& draft) {
  return draft.order.cluster.empty() ? draft.sample.cluster : draft.order.cluster;
}

// As samples name them.
std::string weights_of(const ConfigOrder& order) {
  return order.weights.empty() ? std::string(kWeights) : order.weights;
}

bool reads_bytes(const Config& config) { return resolve_model(config).vocabulary == 256; }

// "504k", "1.5M", "7.34B".
std::string short_count(double count) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kUnits{
      {{1e9, "B"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [size, unit] : kUnits)
    if (count >= 0.9995 * size) return fmt::format("{:.3g}{}", count / size, unit);
  return fmt::format("{:.3g}", count);
}

bool on_cores(const Cluster& cluster) { return cluster.device.cores > 0; }

// Of one rank, as a config says it.
std::string memory_of(int64_t bytes) {
  const std::string text = short_bytes(bytes);
  return parse_byte_size(text, "plan.memory") == bytes ? text : fmt::format("{}B", bytes);
}

// The ranks of a mesh that was answered; 0 where none was.
int answered_ranks(const ConfigOrder& order) {
  std::vector<std::string> axes;
  for (const std::string& setting : order.settings)
    if (setting.starts_with("mesh")) axes.push_back(setting);
  if (axes.empty()) return order.ranks;
  const Mesh mesh(parse_config("", "answers", axes).mesh);
  if (order.ranks > 0 && order.ranks != mesh.num_ranks())
    throw user_error("mesh {} has {} ranks, but --ranks is {}", to_string(mesh), mesh.num_ranks(),
                     order.ranks)
        .help("leave one of them out");
  return mesh.num_ranks();
}

Draft begin(const ConfigOrder& order) {
  SampleMachine machine{.ranks = answered_ranks(order)};
  std::optional<Cluster> asked;
  if (!order.cluster.empty()) {
    asked = load_cluster(order.cluster);
    machine.device = on_cores(*asked) ? SampleMachine::Device::Cores : SampleMachine::Device::Gpus;
  }
  Draft draft{.order = order, .sample = sample_of(order.job, machine), .cluster = {}};
  draft.cluster = asked ? std::move(*asked) : load_cluster(draft.sample.cluster);
  const int most = draft.cluster.levels.back().ranks;
  draft.ranks = machine.ranks > 0 ? machine.ranks : std::min(draft.sample.ranks, most);
  draft.text = draft.sample.body;
  // One path takes the place of a mixture.
  if (draft.names("data.path")) draft.text = with_section(draft.text, "data.mixture", {});
  draft.read();
  return draft;
}

// What the sample says of its own mesh goes; recomputation suits any.
void suit_given_mesh(Draft& draft) {
  if (!draft.names("mesh")) return;
  draft.text = with_section(draft.text, "plan", {});
  const PlanTask task{.run = {}, .ranks = draft.ranks, .cluster = draft.cluster};
  draft.set("plan.recompute", "\"fit\"", "Recomputes just enough to fit plan.memory.");
  draft.set("plan.memory", toml_string(memory_of(task.rank_memory_bytes())));
  draft.read();
}

std::vector<std::string> mesh_lines(const Config& config, const std::string& why) {
  std::vector<std::string> lines;
  if (config.mesh.empty()) return lines;
  if (!why.empty()) lines.push_back("# " + why);
  for (const Axis& axis : config.mesh)
    lines.push_back(fmt::format("{} = {}", axis.name, axis.size));
  return lines;
}

std::string toml_text(const ConfigField& field) {
  const std::string text = field_text(field);
  if (text.empty() && (field.key == "plan.memory" || field.key == "data.tokenizer")) return "";
  const bool quoted = std::holds_alternative<std::string*>(field.value) ||
                      std::holds_alternative<uint8_t*>(field.value);
  return quoted ? toml_string(text) : text;
}

// Writes what `wanted` has and the draft has not; `why` is said of the planner's keys.
void write_changes(Draft& draft, Config wanted, const std::string& why = "") {
  if (wanted.mesh != draft.config.mesh)
    draft.text = with_section(draft.text, "mesh", mesh_lines(wanted, why));
  const std::vector<ConfigField> before = config_fields(draft.config);
  for (const ConfigField& field : config_fields(wanted)) {
    const auto same = std::ranges::find(before, field.key, &ConfigField::key);
    // Where it is not answered, data.source is found from data.path.
    const bool is_found = field.key == "data.source" && !draft.names(field.key);
    if (!is_found && field_text(*same) != field_text(field))
      draft.set(std::string(field.key), toml_text(field),
                field.key.starts_with("checkpoint.") ? "" : why);
  }
  draft.read();
}

void take_answers(Draft& draft) {
  for (const std::string& setting : draft.order.settings)
    if (const ConfigValue value = value_from_override(setting); value.key.starts_with("model."))
      draft.set(value.key, toml_value(value.text));
  write_changes(draft, parse_config(draft.text, draft.sample.file(), draft.order.settings));
  Config wanted = draft.config;
  if (!draft.names("data.tokenizer") && wanted.data.tokenizer.starts_with(kWeights))
    wanted.data.tokenizer = reads_bytes(wanted) ? "" : weights_of(draft.order) + "/tokenizer.json";
  write_changes(draft, wanted);
  const bool was_on_cores = draft.config.run.device == DeviceKind::Cpu;
  if (on_cores(draft.cluster) == was_on_cores || draft.names("run.device")) return;
  draft.set("run.device", was_on_cores ? "\"cuda\"" : "\"cpu\"");
  if (!draft.names("train.precision") && !was_on_cores)
    draft.set("train.precision", "\"fp32\"", "What most CPUs compute fastest.");
  draft.read();
}

// Samples as long as the model takes, and a batch that all ranks can share.
void fit_samples(Draft& draft) {
  const ModelConfig model = resolve_model(draft.config);
  const TrainConfig& train = draft.config.train;
  int64_t batch = train.batch;
  if (model.has_sequence() && train.seq > model.context && !draft.names("train.seq")) {
    batch *= train.seq / model.context;
    draft.set("train.seq", fmt::format("{}", model.context), "The model's longest sample.");
  }
  if (batch >= draft.ranks) batch = (batch + draft.ranks - 1) / draft.ranks * draft.ranks;
  if (batch != train.batch && !draft.names("train.batch"))
    draft.set("train.batch", fmt::format("{}", batch));
  draft.read();
}

// A model that is trained from random weights has the rate that is usual for the model, and steps
// for its size.
void follow_model(Draft& draft) {
  const SampleJob& job = draft.order.job;
  const Preset* preset = preset_named(preset_name(draft.config));
  if (draft.is_samples_model() || job.continues || job.proves || !preset) return;
  for (const PresetSetting& setting : preset->training)
    if (setting.key == "train.learning_rate" && !draft.names(setting.key))
      draft.set(std::string(setting.key), std::string(setting.text), "Usual for this model.");
  const RunSpec spec = resolve(with_mesh(draft.config, {}));
  const double each_step = static_cast<double>(spec.tokens_per_step());
  const double steps =
      kTokensPerParameter * static_cast<double>(matmul_parameter_count(spec.model)) / each_step;
  const double two_digits = std::pow(10, std::max(0.0, std::floor(std::log10(steps)) - 1));
  if (!draft.names("train.steps") && !on_cores(draft.cluster))
    draft.set("train.steps", fmt::format("{:.0f}", std::ceil(steps / two_digits) * two_digits));
  draft.read();
}

int64_t tokens_of_step(const TrainConfig& train) { return train.batch * train.seq; }

// What comments of the sample say of its tokens, for those of the draft.
void count_tokens(Draft& draft) {
  const TrainConfig train = draft.config.train;
  const TrainConfig before = parse_config(draft.sample.body, draft.sample.file(), {}).train;
  const int64_t tokens = tokens_of_step(train);
  const bool same_tokens = tokens == tokens_of_step(before);
  if (!same_tokens)
    draft.set("train.batch", fmt::format("{}", train.batch),
              fmt::format("{} tokens a step, in samples of {}.", tokens, train.seq));
  if ((same_tokens && train.steps == before.steps) || draft.order.job.proves) return;
  const double all = static_cast<double>(tokens) * static_cast<double>(train.steps);
  std::string why =
      fmt::format("{} steps of {} tokens are {} tokens", train.steps, tokens, short_count(all));
  const auto used = static_cast<double>(matmul_parameter_count(resolve_model(draft.config)));
  if (!draft.order.job.continues)
    why += fmt::format(
        ", {:.2g} for each parameter that a token meets; compute is spent best at about {:g} "
        "(Hoffmann et al. 2022)",
        all / used, kTokensPerParameter);
  draft.set("train.steps", fmt::format("{}", train.steps), why + ".");
}

// A warm-up of most of a run is none.
void shorten_warmup(Draft& draft) {
  const TrainConfig& train = draft.config.train;
  if (!draft.names("train.warmup_steps") && train.warmup_steps > train.steps / 10)
    draft.set("train.warmup_steps", fmt::format("{}", train.steps / 20),
              "A twentieth of the steps.");
}

bool must_plan(const Draft& draft) {
  static constexpr std::array kPlanned{"train.batch",     "train.seq", "train.microbatches",
                                       "train.precision", "plan",      "lora"};
  if (draft.names("mesh") || (draft.ranks == 1 && on_cores(draft.cluster))) return false;
  const bool is_same = draft.cluster.name == draft.sample.cluster &&
                       draft.ranks == draft.sample.ranks && draft.is_samples_model();
  return !is_same || std::ranges::any_of(kPlanned, [&](auto key) { return draft.names(key); });
}

void plan(Draft& draft, const std::function<SearchResult(const PlanTask&)>& search) {
  PlanTask task = make_plan_task(draft.config, draft.cluster, draft.ranks,
                                 [&](std::string_view key) { return draft.names(key); });
  task.tries_offload = draft.config.plan.offload != "none";
  const SearchResult found = search(task);
  if (found.ranked.empty()) throw no_plan(task, found);
  Config config = draft.config;
  if (!on_cores(draft.cluster) && !draft.names("checkpoint.every")) config.checkpoint.every = 0;
  config = planned_config(std::move(config), task, found.ranked.front());
  int64_t& every = config.checkpoint.every;
  if (!draft.names("checkpoint.every") && every > 0)
    every = std::min(every, std::max<int64_t>(1, config.train.steps / kFewestSaves));
  config.plan.memory = config.plan.recompute == "fit" ? memory_of(task.rank_memory_bytes()) : "";
  write_changes(draft, std::move(config),
                fmt::format("Chosen by tessera plan for {} rank{} of {}.", draft.ranks,
                            draft.ranks == 1 ? "" : "s", draft.cluster.name));
}

SimulatedStep predicted(const Draft& draft) {
  SimulatedStep step =
      simulate_step(draft.config, draft.cluster, spec_to_simulate(draft.cluster, draft.config), {});
  if (step.fits()) return step;
  const double usable = draft.cluster.device.usable_bytes();
  throw user_error("the config needs {} of each rank's memory, and {} has {}",
                   short_bytes(step.simulation.peak_bytes), draft.cluster.device.name,
                   short_bytes(static_cast<int64_t>(usable)))
      .help("give other numbers of ranks or samples, or leave out --mesh: then a plan is found");
}

std::vector<std::string> commands_of(const Draft& draft) {
  const ConfigOrder& order = draft.order;
  const std::string file = shell_word(order.file);
  const std::string verify = fmt::format("tessera verify {} --shrink{}", file,
                                         on_cores(draft.cluster) ? "" : " --device cpu");
  if (order.job.proves) return {verify};
  const int in_node = draft.cluster.levels.front().ranks;
  std::string run = "tessera";
  if (draft.ranks > 1 && !on_cores(draft.cluster)) run += " launch";
  if (draft.ranks > in_node) run += " --sbatch --cluster " + shell_word(cluster_word(draft));
  run += " train " + file;
  if (order.job.continues) run += " --init-from " + shell_word(weights_of(order));
  std::vector<std::string> commands{run};
  if (draft.ranks > 1) commands.push_back(verify);
  return commands;
}

// "1.04 s for each step of 524288 tokens (504k tokens/s, ...)".
std::string cost_text(const Draft& draft, const SimulatedStep& step) {
  const Simulation& figures = step.simulation;
  const int64_t tokens = step.spec.tokens_per_step();
  const double all = figures.step_seconds * static_cast<double>(draft.config.train.steps);
  std::string text = fmt::format(
      "{:.3g} s a step of {} tokens ({} tokens/s, MFU {:.2f})", figures.step_seconds, tokens,
      short_count(static_cast<double>(tokens) / figures.step_seconds), figures.mfu);
  if (!draft.order.job.proves)
    text += fmt::format("; {} steps take {}", draft.config.train.steps, short_duration(all));
  text += fmt::format("; {} of {}", short_bytes(figures.peak_bytes),
                      draft.ranks == 1 ? "memory" : "each rank");
  if (figures.host_bytes > 0)
    text += fmt::format(" and {} of the host", short_bytes(figures.host_bytes));
  return text;
}

std::string head_of(const Draft& draft, const std::vector<std::string>& commands,
                    const SimulatedStep& step) {
  Config plain = draft.config;
  plain.lora = {};
  std::string head = comment_lines(draft.sample.purpose) + "#\n";
  const auto add = [&](std::string_view name, const std::string& line) {
    head += fmt::format("# {:<6} {}\n", name, line);
  };
  add("For:", fmt::format("{} on {} rank{} of {}", model_title(plain), draft.ranks,
                          draft.ranks == 1 ? "" : "s", cluster_word(draft)));
  add("Run:", commands.front());
  if (commands.size() > 1) add("Prove:", commands[1]);
  add("Cost:", cost_text(draft, step));
  add("", fmt::format("by: tessera simulate {} --cluster {}", shell_word(draft.order.file),
                      shell_word(cluster_word(draft))));
  return head + "\n";
}

}  // namespace

NewConfig new_config(const ConfigOrder& order,
                     const std::function<SearchResult(const PlanTask&)>& search) {
  Draft draft = begin(order);
  suit_given_mesh(draft);
  take_answers(draft);
  fit_samples(draft);
  follow_model(draft);
  if (must_plan(draft)) plan(draft, search);
  if (resolve_model(draft.config).has_sequence()) count_tokens(draft);
  shorten_warmup(draft);
  draft.read();
  NewConfig made{.text = {}, .step = predicted(draft), .commands = commands_of(draft)};
  made.text = head_of(draft, made.commands, made.step) + draft.text;
  return made;
}

}  // namespace tessera
