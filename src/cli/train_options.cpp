// SPDX-License-Identifier: Apache-2.0
#include "cli/train_options.h"

namespace tessera {

void add_train_options(Command train, TrainOptions& options) {
  add_run_options(train, options.run);
  add_short_form(train, options.run, "--steps", "train.steps", "steps to train in all");
  add_step_forms(train, options.run);
  add_short_form(train, options.run, "--out", "run.out",
                 "folder for metrics, config and checkpoints");
  add_short_form(train, options.run, "--device", "run.device",
                 "where to run: cpu, or cuda in a build that has it (make cuda)");
  add_short_form(train, options.run, "--save-every", "checkpoint.every",
                 "save a checkpoint every N steps and at the end");
  add_short_form(train, options.run, "--trace", "run.trace",
                 "write a trace of the first steps, for ui.perfetto.dev");
  train.add_flag("--resume", options.resume,
                 "go on from the newest checkpoint of the output folder that is whole");
  train
      .add_option("--accept-changes", options.accepted_changes,
                  "with --resume: keys that may differ from the checkpoint's, such as "
                  "train.learning_rate,data.path")
      .type_name("KEYS")
      .delimiter(',')
      .take_all();
  train.add_option("--init-from", options.init_from,
                   "begin with the weights of a checkpoint, a run or a Hugging Face folder");
  train.add_flag("--overwrite", options.overwrite, "replace an old run in the output folder");
  train
      .add_option("--run-id", options.run_id,
                  "the id of this run, by which a restart tells its folder from another's; a "
                  "supervisor gives it")
      .type_name("ID");
  train.add_flag("--processes", options.processes,
                 "ranks as processes of this machine, not as threads; --supervise does so too");
  train.add_flag("--supervise", options.supervise,
                 "start the run again from its newest checkpoint when it crashes or hangs");
  add_restart_options(train, options.restarts, "with --supervise: ");
}

}  // namespace tessera
