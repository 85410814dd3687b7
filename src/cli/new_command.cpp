// SPDX-License-Identifier: Apache-2.0
// tessera new: writes a commented config from a few answers, given as options or asked for in a
// terminal.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/cluster_option.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/config_values.h"
#include "core/error.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "models/presets.h"
#include "record/progress.h"
#include "samples/new_config.h"

namespace tessera {
namespace {

constexpr size_t kTrials = 500;
constexpr int kMostRanks = 1 << 20;
constexpr const char* kFooter =
    "What is not given is asked for in a terminal, and elsewhere has the value of the job's "
    "sample\n"
    "(docs/configs.md). On more ranks, with another model or machine, the planner chooses the "
    "mesh.\n"
    "Examples:\n"
    "  tessera new                                                   asks\n"
    "  tessera new --job pretrain --out my.toml                      as the sample for a laptop\n"
    "  tessera new --job pretrain --model llama3-1b --ranks 16 --cluster dgx-h100 \\\n"
    "    --data 'tokens/*.bin' --out 1b.toml\n"
    "  tessera new --job fine_tune --model llama3-8b --ranks 8 --cluster dgx-h100 \\\n"
    "    --init-from llama-3.1-8b --out my.toml\n"
    "  tessera new --job prove --model llama3-70b --ranks 128 --cluster llama3-h100 --out ci.toml\n"
    "  tessera new --list                                            all samples";

struct NewCommand {
  std::string job, cluster, weights, out;
  int ranks = 0;
  bool list = false;
  RunOptions run;
};

void print_samples(bool as_json) {
  if (as_json) {
    Json json = Json::object();
    for (const SampleConfig& sample : sample_configs())
      json["samples"].push_back({{"file", sample.file()},
                                 {"purpose", sample.purpose},
                                 {"model", sample.model},
                                 {"ranks", sample.ranks},
                                 {"cluster", sample.cluster},
                                 {"cost", sample.cost}});
    return print_json(json);
  }
  const std::vector<SampleConfig> samples = sample_configs();
  for (const SampleJob& job : sample_jobs()) {
    fmt::print("{}: {}\n", job.name, job.doc);
    for (const std::string_view name : job.samples)
      for (const SampleConfig& sample : samples)
        if (sample.name == name)
          fmt::print("  {}\n    {} on {} rank{} of {}: {}\n", sample.file(), sample.model,
                     sample.ranks, sample.ranks == 1 ? "" : "s", sample.cluster, sample.cost);
  }
}

// An empty answer is the default.
std::string answer_to(const std::string& question, const std::string& fallback) {
  fmt::print("{}{} ", question, fallback.empty() ? ":" : fmt::format(" [{}]:", fallback));
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line))
    throw user_error("the answers ended before the last question")
        .help("give them as options: tessera new --help");
  return line.empty() ? fallback : line;
}

// Asks again until the answer can be used.
template <typename Use>
void ask(const std::string& question, const std::string& fallback, const Use& use) {
  for (;;) try {
      return use(answer_to(question, fallback));
    } catch (const UserError& error) {
      fmt::print("  {}{}\n", error.message(), error.advice().empty() ? "" : "; " + error.advice());
    }
}

void ask_for_job(NewCommand& command) {
  for (const SampleJob& job : sample_jobs()) fmt::print("  {:<13} {}\n", job.name, job.doc);
  ask("what is it for?", std::string(sample_jobs().front().name),
      [&](const std::string& text) { command.job = find_job(text).name; });
}

// Of a setting that the command line does not name.
void ask_for_setting(NewCommand& command, const std::string& key, const std::string& question,
                     const std::string& fallback) {
  if (command.run.names(key)) return;
  ask(question, fallback, [&](const std::string& text) {
    if (key == "model.preset") find_preset(text);
    if (text != fallback) command.run.short_forms.emplace_back(key, text);
  });
}

std::string setting_of(const SampleConfig& sample, std::string_view key) {
  for (const ConfigValue& value : values_from_toml(sample.body, sample.file()))
    if (value.key == key) return value.text;
  return "";
}

void ask_for_machine(NewCommand& command, const SampleConfig& sample) {
  if (command.cluster.empty())
    ask("cluster, by name (tessera clusters lists them) or file?", sample.cluster,
        [&](const std::string& text) {
          load_cluster(text);
          command.cluster = text;
        });
  if (command.ranks == 0)
    ask("devices?", fmt::format("{}", sample.ranks), [&](const std::string& text) {
      const int64_t devices = parse_count(text, "devices");
      if (devices < 1 || devices > kMostRanks)
        throw user_error("devices must be 1 to {}", kMostRanks);
      command.ranks = static_cast<int>(devices);
    });
}

void ask_for_the_rest(NewCommand& command) {
  if (command.job.empty()) ask_for_job(command);
  const SampleJob& job = find_job(command.job);
  ask_for_machine(command, sample_of(job, {.ranks = command.ranks}));
  const bool cores = load_cluster(command.cluster).device.cores > 0;
  const SampleConfig sample = sample_of(
      job, {.ranks = command.ranks,
            .device = cores ? SampleMachine::Device::Cores : SampleMachine::Device::Gpus});
  ask_for_setting(command, "model.preset", "model?", sample.model);
  if (job.continues && command.weights.empty())
    ask("weights to begin from (a run, a checkpoint or a Hugging Face folder)?", "base",
        [&](const std::string& text) { command.weights = text; });
  if (!job.proves) {
    ask_for_setting(command, "data.path", "data (text files, or token shards by glob)?",
                    setting_of(sample, "data.path"));
    ask_for_setting(command, "run.out", "folder for results?", setting_of(sample, "run.out"));
  }
  if (command.out.empty())
    ask("file to write?", sample.name + ".toml", [&](const std::string& text) {
      std::error_code ignored;
      if (std::filesystem::exists(text, ignored)) throw user_error("{} is already there", text);
      command.out = text;
    });
}

void check_all_is_said(const NewCommand& command) {
  if (command.job.empty())
    throw user_error("tessera new needs --job, and asks for it only in a terminal")
        .help("tessera new --job pretrain --out my.toml; --list shows the jobs");
  if (command.out.empty())
    throw user_error("tessera new needs --out, the file to write")
        .help(fmt::format("tessera new --job {} --out my.toml", command.job));
}

void require_new_file(const std::string& path) {
  if (std::filesystem::exists(std::filesystem::symlink_status(path)))
    throw user_error("{} is already there", path)
        .at("--out " + path)
        .help("choose another name: tessera new never overwrites a file");
}

void run(NewCommand& command) {
  if (command.list) return print_samples(command.run.json);
  if (!command.out.empty()) require_new_file(command.out);
  if (is_terminal(stdin) && !command.run.json) ask_for_the_rest(command);
  check_all_is_said(command);
  const SampleJob& job = find_job(command.job);
  const NewConfig made =
      new_config({.job = job,
                  .cluster = command.cluster,
                  .ranks = command.ranks,
                  .settings = command.run.all(),
                  .weights = command.weights,
                  .file = command.out},
                 [](const PlanTask& task) { return search(task, {.most_trials = kTrials}); });
  require_new_file(command.out);  // there may be one by now
  write_file_atomically(command.out, made.text);
  if (command.run.json) {
    Json json = to_json(made.step);
    json["file"] = command.out;
    json["commands"] = made.commands;
    return print_json(json);
  }
  fmt::print("wrote {}: {}\nnext:\n", command.out, title_of(made.step));
  for (const std::string& line : made.commands) fmt::print("  {}\n", line);
}

}  // namespace

void add_new_command(Command app) {
  auto command = std::make_shared<NewCommand>();
  const Command add = app.add_subcommand("new", "write a commented config from a few answers");
  add.footer(kFooter);
  add.add_option("--job", command->job, "what the config is for").choices(job_names());
  add_short_form(add, command->run, "--model", "model.preset", "model preset, such as llama3-8b");
  add_short_form(add, command->run, "--data", "data.path",
                 "text files by file, folder or glob, or token shards by glob");
  add_short_form(add, command->run, "--tokenizer", "data.tokenizer",
                 "tokenizer.json, where data are text");
  add.add_option("--ranks", command->ranks, "devices; default: those of the sample")
      .range(1, kMostRanks)
      .type_name("N");
  add.add_option("--cluster", command->cluster,
                 "a name that `tessera clusters` lists, or a file; default: the sample's")
      .type_name("NAME|FILE");
  add.add_option("--init-from", command->weights,
                 "what a job that continues begins from: a checkpoint, a run or a Hugging Face "
                 "folder")
      .type_name("FOLDER");
  add_short_form(add, command->run, "--results", "run.out",
                 "folder for metrics, config and checkpoints");
  add.add_option("--out", command->out, "the file to write; one that is there is never replaced")
      .type_name("FILE");
  add.add_flag("--list", command->list, "list jobs, with their samples and what these cost");
  add_settings(add, command->run);
  add.on_run([command] { run(*command); });
}

}  // namespace tessera
