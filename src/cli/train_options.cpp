// SPDX-License-Identifier: Apache-2.0
#include "cli/train_options.h"

namespace tessera {

void add_train_options(Command train, TrainOptions& options) {
  add_run_options(train, options.run);
  add_short_form(train, options.run, "--steps", "train.steps", "total number of steps");
  add_step_forms(train, options.run);
  add_short_form(train, options.run, "--out", "run.out",
                 "folder for metrics, config and checkpoints");
  add_short_form(train, options.run, "--device", "run.device",
                 "where to run: cpu, or cuda in a build with CUDA (make cuda)");
  add_short_form(train, options.run, "--save-every", "checkpoint.every",
                 "save a checkpoint every N steps and at the end");
  add_short_form(train, options.run, "--least-ranks", "elastic.least_ranks",
                 "supervised, continue with at least N ranks when some are lost");
  add_short_form(train, options.run, "--trace", "run.trace",
                 "write a trace of the first steps, for ui.perfetto.dev");
  add_short_form(train, options.run, "--metrics-port", "run.metrics_port",
                 "metrics for Prometheus at http://127.0.0.1:PORT/metrics; 0: a free port");
  train.add_flag(
      "--json-lines", options.json_lines,
      "print every step and event as it happens, a line of JSON each, on standard output");
  train.add_flag("--resume", options.resume,
                 "resume from the newest complete checkpoint in the output folder");
  train
      .add_option("--accept-changes", options.accepted_changes,
                  "with --resume: keys that may differ from the checkpoint's, such as "
                  "train.learning_rate,data.path")
      .type_name("KEYS")
      .delimiter(',')
      .take_all();
  train.add_option("--init-from", options.init_from,
                   "start from the weights of a checkpoint, a run or a Hugging Face folder");
  train.add_flag("--overwrite", options.overwrite, "replace an old run in the output folder");
  train
      .add_option(
          "--run-id", options.run_id,
          "the id of this run, by which a restart recognizes its folder; set by the supervisor")
      .type_name("ID");
  train.add_flag("--processes", options.processes,
                 "run ranks as processes on this machine, not as threads; implied by --supervise");
  train.add_flag("--supervise", options.supervise,
                 "restart the run from its newest checkpoint when it crashes or hangs");
  add_restart_options(train, options.restarts, "with --supervise: ");
}

}  // namespace tessera
