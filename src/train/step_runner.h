// SPDX-License-Identifier: Apache-2.0
// One training step: takes the next batch, feeds it to the executor, runs the program, and measures
// what it did.
#pragma once

#include <memory>

#include "checkpoint/manifest.h"
#include "data/batch_feeder.h"
#include "data/batch_loader.h"
#include "data/training_data.h"
#include "train/expert_room.h"
#include "train/mfu_peak.h"
#include "train/run_outputs.h"

namespace tessera {

// What a step needs; all of it must outlive the runner.
struct StepParts {
  const Config& config;
  const ModelConfig& model;
  const RunFacts& facts;
  const SampleSource& train;  // of the data, or this island's share of it
  const TrainingData& data;
  Executor& executor;
  RunOutputs& outputs;
};

class StepRunner {
 public:
  // `room` must outlive it.
  StepRunner(const StepParts& parts, MfuPeak peak, ExpertRoom& room);

  // The next batch begins with this sample.
  void load_from(int64_t sample);
  // Runs the step after `position` and moves the position there.
  StepRecord run(CheckpointPosition& position);
  double held_out_loss(int64_t step);  // after that step
  // After the last step: for later runs, where a step of this one beat the measured peak.
  void raise_peak();

 private:
  void add_utilisation(StepRecord& record);
  void add_energy(StepRecord& record);

  StepParts parts_;
  MfuPeak peak_;
  ExpertRoom& room_;
  BatchFeeder feeder_;
  std::unique_ptr<BatchLoader> loader_;
  std::optional<double> joules_;  // of the device's counter, after the step before
  double fastest_ = 0;            // flops per second of the model's maths, in the fastest step
};

}  // namespace tessera
