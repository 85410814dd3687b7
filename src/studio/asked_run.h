// SPDX-License-Identifier: Apache-2.0
// The run that a question is about, its field "run": a model, a cluster and settings, with the
// defaults and the errors of the command line. It names no file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "studio/answers.h"
#include "studio/run_on_cluster.h"

namespace tessera {

struct AskedRun {
  Config config;
  Cluster cluster;
  std::string model;                                          // as asked; empty: the default
  std::vector<std::pair<std::string, std::string>> settings;  // as asked, in order

  bool names(std::string_view key) const;
  // The same run without some settings, or with another mesh.
  AskedRun without(const std::function<bool(std::string_view)>& left_out) const;
  AskedRun with_mesh_text(const std::string& mesh) const;
};

AskedRun asked_run(const Question& question);

// The settings as flags of the command line, from "--cluster" on: the same run for any subcommand
// that takes a config.
std::string flags_of(const AskedRun& run, bool with_cluster = true);

// The flag that a key has for itself, such as --batch; empty: --set.
std::string_view short_flag(std::string_view key);

}  // namespace tessera
