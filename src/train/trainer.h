// SPDX-License-Identifier: Apache-2.0
// The training loop: one config, one run. Opens the run's folder, puts the parts of a run together,
// and decides between two steps what comes next: stop, save, evaluate.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/state_source.h"
#include "comm/communicator.h"
#include "data/text_tokens.h"
#include "record/run_folder.h"
#include "system/stop_signal.h"
#include "train/island_group.h"
#include "train/recovery.h"
#include "train/sample_writer.h"

namespace tessera {

struct TrainerOptions {
  bool resume = false;
  bool overwrite = false;   // an old run in the output folder may be replaced
  std::string run_id = {};  // given by the supervisor; empty: one is drawn
  // First weights; null: random ones. Of a run that resumes with lora.base, those that are frozen.
  const StateSource* init_from = nullptr;
  bool quiet = false;  // no progress
  // Keys of the config that may differ from those that the checkpoint was saved with.
  std::vector<std::string> accepted_changes = {};
  RankWorld* world = nullptr;  // this process is one rank of a job; null: it runs all ranks
  FaultPlan* faults = nullptr;
  const IslandRole* island = nullptr;  // this run is one of several islands; must outlive it
  std::function<TrainingData(const Config&)> data = {};  // samples in place of the config's [data]
  // Told of every step, complete as metrics.jsonl has it, by the thread that trains. Returns why
  // the run is to stop here, as a signal would stop it; empty: it continues. Of islands in one
  // process the first one tells, of a job each rank.
  std::function<std::string(const StepRecord&)> on_step = {};
  bool takes_signals = true;        // stops at SIGINT and others; false: signals are the caller's
  DataProgress data_progress = {};  // of what is done with the data before the first step
  // Gets every line of metrics.jsonl and events.jsonl. Of islands in one process the first one's;
  // of a job the first rank's.
  LineSink lines = {};
};

class Trainer {
 public:
  Trainer(Config config, TrainerOptions options);

  TrainSummary run();

  const RunFacts& facts() const { return facts_; }
  int64_t step() const { return position_.step; }  // done

 private:
  OldRun find_run_in_folder() const;
  void prepare_folder(OldRun old);
  void make_executor();
  void make_first_states();
  const StateSource* base_weights() const;  // null: all are in the checkpoints
  void load_base_weights();
  void make_exchange();
  void continue_from(std::optional<int64_t> step);
  void exchange(double loss);
  void train_steps();
  bool agree_to_continue();
  void after_step(StepRecord& record);
  double save();  // seconds that training stalled
  bool skips_step();
  bool due(int64_t every) const { return every > 0 && position_.step % every == 0; }
  int islands_here() const {  // that share this process's memory
    return options_.island && options_.island->group ? options_.island->islands : 1;
  }
  bool writes_samples() const { return samples_.writes() && !options_.quiet; }

  // First, so that a signal that comes early is not lost; none where signals are the caller's.
  std::optional<StopSignal> stop_;
  std::string asked_to_stop_;  // by on_step: why
  Config config_;
  TrainerOptions options_;
  std::unique_ptr<StateSource> opened_base_;  // where the options give no weights
  ModelConfig model_;
  SampleWriter samples_;
  TrainingData data_;
  RunOutputs outputs_;
  CheckpointPosition position_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Communicator> job_;  // all of its processes; null: this one runs all ranks
  RunFacts facts_;
  std::unique_ptr<SampleSource> share_;       // of the training data, that of this island
  std::unique_ptr<IslandExchange> exchange_;  // null where this is the only one
  std::unique_ptr<RunSaver> saver_;
  std::unique_ptr<ExpertRoom> room_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Recovery> recovery_;
  bool continues_record_ = false;  // of an earlier start, instead of beginning one
};

}  // namespace tessera
