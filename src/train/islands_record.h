// SPDX-License-Identifier: Apache-2.0
// The record of all islands of one process together, in the folder above theirs: a step's line
// once every island has done it, with the mean of their losses and the sum of their rates; and the
// one progress line of all.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/config.h"
#include "record/progress.h"
#include "record/run_recorder.h"

namespace tessera {

// Of one step, by island.
StepRecord record_of_islands(const std::vector<StepRecord>& islands);

class IslandsRecord {
 public:
  // Threads of all islands call it. `config` is that of all islands.
  IslandsRecord(const Config& config, int islands, bool quiet);

  // The first island's facts; the record continues after `resumed_step`, or begins.
  void begin(RunFacts one, std::optional<int64_t> resumed_step);
  void step(int island, const StepRecord& record);
  void note(const std::string& text);
  void failed(const std::string& text);
  void end(const std::string& stopped_by);
  double elapsed_seconds() const { return recorder_ ? recorder_->elapsed_seconds() : 0; }

  const std::vector<double>& losses() const { return losses_; }  // of the steps of this start

 private:
  const Config& config_;
  const int islands_;
  const bool quiet_;
  std::mutex mutex_;
  Progress progress_;
  std::unique_ptr<RunRecorder> recorder_;
  std::map<int64_t, std::map<int, StepRecord>> open_;  // by step, by island
  std::vector<double> losses_;
  int64_t step_ = 0;
};

}  // namespace tessera
