// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config.h"
#include "config/config_values.h"
#include "core/error.h"
#include "files/json.h"

namespace tessera {

std::vector<std::string> RunOptions::all() const {
  std::vector<std::string> all;
  const auto set = [&all](const Keys& keys) {
    for (const auto& [key, value] : keys) all.push_back(fmt::format("{}={}", key, value));
  };
  if (!file) set(defaults);
  all.insert(all.end(), overrides.begin(), overrides.end());
  set(short_forms);
  return all;
}

bool RunOptions::names(std::string_view key) const {
  const auto sets = [&](const std::string& text) { return value_from_override(text).key == key; };
  return std::any_of(overrides.begin(), overrides.end(), sets) ||
         std::any_of(short_forms.begin(), short_forms.end(),
                     [&](const auto& form) { return form.first == key; });
}

Config RunOptions::load() const {
  try {
    return load_config(file, all());
  } catch (const UserError& error) {
    for (const auto& [key, value] : short_forms)
      if (flags.contains(key) && error.place() == fmt::format("--set {}={}", key, value))
        throw UserError(error.message())
            .at(fmt::format("{} {}", flags.at(key), value))
            .help(error.advice());
    throw;
  }
}

Config RunOptions::load_with_notes() const {
  Config config = load();
  if (!json)
    for (const std::string& note : notes_on(config)) fmt::print(stderr, "note: {}\n", note);
  return config;
}

void add_short_form(Command command, RunOptions& options, const std::string& flag,
                    const std::string& key, const std::string& doc) {
  options.flags[key] = flag;
  command
      .add_option_function(
          flag,
          [&options, key](const std::string& value) {
            options.short_forms.emplace_back(key, value);
          },
          doc + " (" + key + ")")
      .type_name("VALUE");
}

void add_step_forms(Command command, RunOptions& options, const std::string& batch_doc) {
  add_short_form(command, options, "--batch", "train.batch", batch_doc);
  add_short_form(command, options, "--seq", "train.seq", "tokens per sample");
  add_short_form(command, options, "--microbatches", "train.microbatches",
                 "number of microbatches in a batch");
  add_short_form(command, options, "--precision", "train.precision",
                 "fp32, bf16, pure_bf16, fp8, pure_fp8 or fp64");
  add_short_form(
      command, options, "--zero", "plan.zero",
      "what is sharded: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too");
  add_short_form(command, options, "--schedule", "plan.schedule",
                 "pipeline schedule: 1f1b, interleaved_1f1b, zb_h1, ...");
  add_short_form(
      command, options, "--recompute", "plan.recompute",
      "what the backward recomputes: none, cheap, attention, block_keep_attention, block, "
      "every or fit");
}

void print_json(const Json& json) { fmt::print("{}\n", sorted(json).dump()); }

void add_json_flag(Command command, bool& json) {
  command.add_flag("--json", json, "print only one JSON object on standard output");
}

void add_reduction_option(Command command, std::string& reduction) {
  command.add_option("--reduction", reduction, "sum, mean, min or max")
      .choices({"sum", "mean", "min", "max"})
      .show_default();
}

void add_settings(Command command, RunOptions& options) {
  command
      .add_option("--set", options.overrides,
                  "set one key of the config, overriding the file: --set train.seq=64")
      .type_name("KEY=VALUE")
      .take_all();
  add_short_form(command, options, "--mesh", "mesh", "ranks by axis: dp=2,fsdp=2,cp=1,tp=2");
  add_json_flag(command, options.json);
}

void add_run_options(Command command, RunOptions& options) {
  command.add_option("config", options.file, "config file (TOML)").type_name("FILE");
  add_settings(command, options);
  add_short_form(command, options, "--model", "model.preset",
                 "model preset, such as tiny or gpt2-124m");
  add_short_form(command, options, "--seed", "train.seed", "seed of the initial weights");
}

}  // namespace tessera
