// SPDX-License-Identifier: Apache-2.0
// Islands to verify in tests: a small model on a mesh, as settings.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "core/dtype.h"
#include "verify/verify_islands.h"

namespace tessera {

struct IslandCase {
  std::string mesh = "island=2";
  std::vector<std::string> settings = {};  // "islands.delay=1"
  int late_after = 0;
};

struct IslandRun {
  RunSpec spec;
  VerifyIslandsOptions options;
};

inline IslandRun run_of(const IslandCase& given) {
  std::vector<std::string> settings{"mesh=" + given.mesh, "train.precision=fp64", "islands.every=2",
                                    "train.batch=24"};
  settings.insert(settings.end(), given.settings.begin(), given.settings.end());
  const Config config = parse_config("", "test", settings);
  IslandRun run{.spec = resolve_shrunk(config), .options = {.play = play_of(config, 5)}};
  run.options.play.late_after = given.late_after;
  // Large enough that a mistake in one fragment shows in the whole.
  run.options.play.learning_rate = 1e-2;
  return run;
}

}  // namespace tessera
