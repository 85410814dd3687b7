// SPDX-License-Identifier: Apache-2.0
// The attempts of a job, as job/attempts.jsonl in the run's folder: when each held which ranks, how
// far it came and why it ended. Lines are only ever added.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct JobAttempt {
  std::string job = {};    // its number in Slurm
  double begin = 0;        // seconds since 1970
  int64_t first_step = 0;  // that was saved before
  int nodes = 0, ranks = 0;
  std::string mesh = {};
  double step_seconds = 0;  // predicted
  // Of an attempt that could say how it ended.
  std::optional<double> end = {};
  int64_t last_step = 0;  // saved
  int code = 0;
  std::string ended = {};  // "complete", "stopped", "failed"
};

double seconds_since_1970();
std::filesystem::path attempts_file(const std::filesystem::path& run);

// Adds a line; a failure to write is no reason to end a run: it returns false.
bool log_begin(const std::filesystem::path& run, const JobAttempt& attempt);
bool log_end(const std::filesystem::path& run, const JobAttempt& attempt);
// Lines that are not ours are left out.
std::vector<JobAttempt> read_attempts(const std::filesystem::path& run);

}  // namespace tessera
