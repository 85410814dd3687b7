// SPDX-License-Identifier: Apache-2.0
// The options of `tessera train`, which `tessera launch` reads too.
#pragma once

#include "cli/run_options.h"
#include "cli/supervised_run.h"

namespace tessera {

struct TrainOptions {
  RunOptions run;
  std::string init_from, run_id;
  std::vector<std::string> accepted_changes;  // keys, for --resume
  bool json_lines = false;
  bool resume = false, overwrite = false, supervise = false, processes = false;
  RestartOptions restarts;
};

// `options` must live as long as the application.
void add_train_options(Command train, TrainOptions& options);

}  // namespace tessera
