// SPDX-License-Identifier: Apache-2.0
// The options that subcommands share: a config file, overrides, and the short forms of common keys.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "config/config.h"

namespace tessera {

class Json;

struct RunOptions {
  using Keys = std::vector<std::pair<std::string, std::string>>;  // key, value

  Keys defaults;  // where no file is given
  std::optional<std::string> file;
  std::vector<std::string> overrides;        // "train.steps=10"
  Keys short_forms;                          // stronger than overrides
  std::map<std::string, std::string> flags;  // of short forms, by key: "--steps"
  bool json = false;

  std::vector<std::string> all() const;    // defaults, overrides, short forms, as overrides
  Config load() const;                     // errors name what was given: "--steps 0"
  Config load_with_notes() const;          // also prints what has no effect, unless --json
  bool names(std::string_view key) const;  // on the command line, by --set or a short form
};

void add_json_flag(Command command, bool& json);
void print_json(const Json& json);  // on one line, members by name
void add_reduction_option(Command command, std::string& reduction);
// Adds --set, --mesh and --json.
void add_settings(Command command, RunOptions& options);
// Adds the config file, --set, --model, --seed and --json. `options` must live as long as the
// application.
void add_run_options(Command command, RunOptions& options);
// Adds --batch, --seq, --microbatches, --precision, --zero, --schedule and --recompute: what a step
// is, and how it is run.
void add_step_forms(Command command, RunOptions& options,
                    const std::string& batch_doc = "samples per step");
// Adds a short form: `--steps 10` for `--set train.steps=10`.
void add_short_form(Command command, RunOptions& options, const std::string& flag,
                    const std::string& key, const std::string& doc);

}  // namespace tessera
