// SPDX-License-Identifier: Apache-2.0
// How a job stands: what its run's folder and Slurm's queue say of it together. Speed is measured
// over the steps of the last start; goodput is the share of the time that ranks were held in which
// each step was made once, at full speed.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "files/json.h"
#include "jobs/attempt_log.h"
#include "jobs/job_plan.h"
#include "jobs/slurm_text.h"
#include "record/run_record.h"

namespace tessera {

struct JobState {
  std::string run = {};      // its folder
  std::string job = {};      // its number in Slurm; empty: none
  std::string state = {};    // Slurm's, or "complete", "stopped", "failed", "gone"
  std::string reason = {};   // why it waits or failed
  int nodes = 0, ranks = 0;  // now, or last; 0: it has not begun
  std::string mesh = {};
  int64_t step = 0, steps = 0;
  int attempts = 0;
  double held_seconds = 0;  // that it had ranks
  std::optional<double> predicted_tokens_per_second = {}, tokens_per_second = {};
  std::optional<double> predicted_goodput = {}, goodput = {};
  std::optional<double> left_seconds = {};  // of training, once it has ranks
};

// Seconds in which the record's steps were made, each once, at the median speed of its start.
double productive_seconds(const RunRecord& record);

// `record`: null where no step was finished. `queued`: null where Slurm does not list it.
JobState job_state(const std::filesystem::path& run, const JobPlan& plan,
                   std::span<const JobAttempt> attempts, const RunRecord* record,
                   const QueuedJob* queued, double now);

Json to_json(const JobState& state);
// A table with a row for each.
std::string job_table(std::span<const JobState> states);

}  // namespace tessera
