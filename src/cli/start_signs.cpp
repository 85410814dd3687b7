// SPDX-License-Identifier: Apache-2.0
#include "cli/start_signs.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "checkpoint/checkpoint_folder.h"
#include "comm/failure/report_folder.h"
#include "comm/local/run_ranks.h"
#include "comm/mpi/open_mpi_segments.h"
#include "system/process.h"

namespace tessera {
namespace {

constexpr int kOwnBugExitStatus = 70;
constexpr int kLastSignal = 64;

bool is_alive(int process) {
  const char state = process_state(process);
  return state != '\0' && state != 'Z' && state != 'X';
}

}  // namespace

StartSigns::Traces StartSigns::traces() const {
  std::ifstream file(checkpoints_of(run_) / "generation");
  std::ostringstream generation;
  generation << file.rdbuf();
  std::error_code none;
  const auto told = std::filesystem::last_write_time(run_ / "failure.txt", none);
  return {.generation = generation.str(), .failure = none ? std::nullopt : std::optional(told)};
}

void StartSigns::before_start() {
  before_ = traces();
  ranks_were_here_ = false;
  open_mpi_job_.reset();
}

bool StartSigns::began(int code) const {
  std::error_code none;
  const bool left_traces =
      traces() != before_ || std::filesystem::exists(run_ / kReportFolder, none);
  if (left_traces) return true;
  if (code == kUserExitStatus) return false;
  if (!has_launcher_) return true;
  // A launcher passes on a rank's exit code. Its own failures have other codes: 1, or 255 from an
  // ssh that cannot connect.
  const bool by_signal = code > 128 && code <= 128 + kLastSignal;
  return code == kPeerExitStatus || code == kOwnBugExitStatus || by_signal || ranks_were_here_;
}

bool StartSigns::over(int launcher) {
  const std::string own = process_name(getpid());
  const std::vector<int> below = descendants_of(launcher);
  const auto rank = std::find_if(below.begin(), below.end(), [&](int process) {
    return process_name(process) == own && is_alive(process);
  });
  const bool are_here = rank != below.end();
  if (are_here && !ranks_were_here_) open_mpi_job_ = open_mpi_job_of(*rank);
  if (are_here) ranks_were_here_ = true;
  return (ranks_were_here_ && !are_here) || traces().failure != before_.failure;
}

void StartSigns::clean_up() const {
  if (open_mpi_job_) remove_open_mpi_segments(*open_mpi_job_);
}

}  // namespace tessera
