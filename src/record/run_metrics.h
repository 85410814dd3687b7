// SPDX-License-Identifier: Apache-2.0
// The newest figures of a run as a page for Prometheus. The run tells of them between steps, and
// the page is made when it is asked for, by another thread.
#pragma once

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_writer.h"
#include "exec/rank_times.h"
#include "record/run_facts.h"
#include "record/step_record.h"

namespace tessera {

class RunMetrics {
 public:
  // `earlier_starts` of the same run.
  void begin(const RunFacts& facts, int64_t total_steps, int64_t earlier_starts);
  void step(const StepRecord& record);
  void ranks(std::span<const RankTimes> times);
  void saved(const SaveOutcome& outcome);

  // In the text format 0.0.4.
  std::string page() const;

 private:
  using Clock = std::chrono::steady_clock;

  mutable std::mutex mutex_;
  RunFacts facts_;
  int64_t total_steps_ = 0, earlier_starts_ = 0;
  StepRecord last_;       // of each figure the newest that is known; of sums the sum
  bool stepped_ = false;  // whether there was a step
  std::vector<RankTimes> ranks_;
  int64_t saves_ = 0, failed_saves_ = 0;
  std::optional<int64_t> saved_step_;
  Clock::time_point saved_at_;
};

// How many starts of a run its events.jsonl in `folder` has.
int64_t count_starts(const std::filesystem::path& folder);

// Where Prometheus finds a field: its key with the unit that Prometheus' names end with, such as
// "tessera_tokens_total".
std::string metric_name(const StepField& field);

}  // namespace tessera
