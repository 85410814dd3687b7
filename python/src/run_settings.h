// SPDX-License-Identifier: Apache-2.0
// The run that a call is about: a config file and settings over it, as the command line takes them.
// Its errors name what was written in Python.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/state_source.h"
#include "config/config.h"
#include "sim/cluster.h"

namespace tessera {

struct RunSetting {
  std::string key, value;
  std::string keyword;  // that gave it; empty: it was in set={...}
};

struct RunSettings {
  std::optional<std::string> file;
  std::vector<RunSetting> settings;  // later ones are stronger

  bool names(std::string_view key) const;
  // "train.steps=10", the defaults of a cluster first, where there is one and no file.
  std::vector<std::string> overrides(const Cluster* cluster = nullptr) const;
  Config load(const Cluster* cluster = nullptr) const;
  // Calls f, and lets a UserError at "--set KEY=VALUE" name the keyword instead.
  Config in_words_of_python(const std::function<Config()>& f) const;
};

// Ranks are threads of one process here: a UserError where mpirun or srun started several.
void require_no_launcher(std::string_view call);

}  // namespace tessera
