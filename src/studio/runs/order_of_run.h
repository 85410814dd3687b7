// SPDX-License-Identifier: Apache-2.0
// What a page may ask for when it starts a run: a preset, a mesh and a few numbers, each checked.
// The command line is made of these alone. They are kept in the run's folder, and are checked again
// when the run is resumed, whoever has written them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "studio/answers.h"

namespace tessera {

class StartedRuns;

struct RunOrder {
  std::string model = "tiny", mesh = {};  // the mesh is empty for one rank
  int ranks = 1;
  bool supervised = true;  // ranks are processes that are restarted; else threads
  int64_t steps = 800, save_every = 50, sample_every = 0, seed = 1;
  int64_t batch = 0, seq = 0, microbatches = 0;  // 0: the preset's

  std::vector<std::string> settings() const;  // "train.steps=200" each
  std::vector<std::string> words(const std::filesystem::path& folder, bool resumes) const;
  Json json() const;
};

// The fields of an order; a UserError, of the command line or of the compiler, where this machine
// cannot run it.
RunOrder read_order(const Json& fields);

// A UserError where Studio was started without --allow-runs.
StartedRuns& allowed_runs(const Question& question);

}  // namespace tessera
