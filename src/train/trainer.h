// SPDX-License-Identifier: Apache-2.0
// The training loop: one config, one run. Compiles the model, feeds the executor, watches the loss,
// saves, and says how it went.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "config/config.h"
#include "core/precision.h"
#include "data/batch_feeder.h"
#include "data/batch_loader.h"
#include "data/token_text.h"
#include "data/training_data.h"
#include "exec/cpu/matmul_rate.h"
#include "exec/device_executor.h"
#include "exec/trace_recorder.h"
#include "inference/text_generator.h"
#include "measure/run_peak.h"
#include "models/model_config.h"
#include "record/progress.h"
#include "record/run_recorder.h"
#include "system/stop_signal.h"
#include "train/run_saver.h"
#include "train/train_summary.h"

namespace tessera {

struct TrainerOptions {
  bool resume = false;
  bool overwrite = false;                  // an old run in the output folder may be replaced
  std::string run_id = {};                 // by the supervisor's word; empty: one is drawn
  const StateSource* init_from = nullptr;  // first weights; null: random ones
  bool quiet = false;                      // no progress
  // Keys of the config that may differ from those that the checkpoint was saved with.
  std::vector<std::string> accepted_changes = {};
  RankWorld* world = nullptr;  // this process is one rank of a job; null: it runs all ranks
  FaultPlan* faults = nullptr;
};

class Trainer {
 public:
  Trainer(Config config, TrainerOptions options);

  TrainSummary run();

 private:
  void warn(const std::string& text);
  void shout(const std::string& text);  // also where a run is to be quiet
  void make_executor();
  void make_first_states();
  void resume();
  void accept_changes(const CheckpointFacts& saved);
  void begin_with(const StateSource& weights);
  StepMetrics step();
  void meet_non_finite(StepMetrics& metrics);
  void rewind(const std::string& why);
  void measure_peak(const StepMetrics& metrics);
  void raise_peak();
  void find_peak();
  void train_steps();
  bool goes_on();  // after what the ranks have agreed on between two steps
  void behind_step(StepMetrics& metrics);
  double held_out_loss();
  double save();  // seconds that training stood still
  void tell_saves();
  void fault(FaultPhase phase);
  bool skips_step();
  void write_trace();
  void keep_side_files();
  void begin_record(std::optional<int64_t> resumed_step);
  void tell_losses();
  void show_sample(const std::string& title);
  bool shows_samples() const {
    return config_.train.sample_every > 0 && writes_text() && !options_.quiet;
  }
  bool writes_files() const { return !options_.world || options_.world->rank() == 0; }
  bool quiet() const { return options_.quiet || !writes_files(); }
  bool due(int64_t every) const { return every > 0 && position_.step % every == 0; }
  bool on_gpu() const { return config_.run.device == "cuda"; }
  bool writes_text() const { return model_.has_sequence() && text_.is_text(); }

  StopSignal stop_;  // first, so that a signal that comes early is not lost
  Config config_;
  TrainerOptions options_;
  ModelConfig model_;
  Precision precision_;
  int threads_;
  TokenText text_;
  TrainingData data_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<RunSaver> saver_;
  std::unique_ptr<BatchFeeder> feeder_;
  std::unique_ptr<TextGenerator> generator_;
  std::unique_ptr<BatchLoader> loader_;
  RunFacts facts_;
  std::unique_ptr<RunRecorder> recorder_;         // null where this process writes no files
  std::unique_ptr<TensorboardFile> tensorboard_;  // null where none is asked for
  std::unique_ptr<TraceRecorder> trace_;
  Progress progress_;
  CheckpointPosition position_;
  TrainSummary summary_;
  bool continues_record_ = false;      // of an earlier start, instead of beginning one
  std::optional<int64_t> save_begun_;  // the step of the last one
  int rewinds_ = 0;                    // in a row, to the checkpoint of step rewound_to_
  int64_t rewound_to_ = -1;
  std::optional<RunPeak> peak_;  // of one device, where the config gives none
  double devices_ = 1;           // machines with cores, or GPUs
  double fastest_ = 0;           // flops per second of the model's maths, in the fastest step
};

}  // namespace tessera
