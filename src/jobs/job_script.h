// SPDX-License-Identifier: Apache-2.0
// The script of a Slurm job that trains a run: written, never edited by a run. Whatever a job needs
// to know stands in its directives or in job/plan.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobs/job_plan.h"

namespace tessera {

struct JobScript {
  std::string name = {};    // of the job
  std::string output = {};  // file that all attempts append to
  int gpus_per_node = 0;
  std::vector<std::string> more = {};        // further options of sbatch, which win
  std::vector<std::string> written_by = {};  // the command that wrote it
  std::vector<std::string> command = {};     // that trains; it gets the warning
};

std::string job_script(const JobPlan& plan, const JobScript& script);

// Words as a shell reads them.
std::string shell_line(const std::vector<std::string>& words);
// A word as a shell reads it: quoted where it must be.
std::string shell_word(const std::string& word);
// "1-02:03:00": as Slurm writes times, in whole minutes, rounded up.
std::string slurm_time(double seconds);

// How long an attempt may take, when to warn it, and how many there are.
struct JobTimes {
  double grace_seconds = 0, limit_seconds = 0;
  int attempts = 1;
};
struct JobTimeOptions {
  double start_seconds = 0, save_seconds = 0;  // until the first step; that a save takes
  std::optional<double> grace_seconds = {};    // else from the slowest step and a save
  std::optional<double> longest_seconds = {};  // of one attempt, as the partition allows
};
// From what the run takes on the fewest nodes of the range. A UserError where an attempt is too
// short to start, warn and save.
JobTimes job_times(const PlannedNodes& slowest, const JobTimeOptions& options);

}  // namespace tessera
