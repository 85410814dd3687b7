// SPDX-License-Identifier: Apache-2.0
// When this rank writes its report for the failure report of the job: as it gives up, and before
// that when it is told to end or hears of another's failure while it is busy, since it may get no
// other chance.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "comm/failure/rank_report.h"
#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_options.h"

namespace tessera {

class MpiReporter {
 public:
  // Of one round.
  MpiReporter(MpiEngine& engine, const MpiOptions& options);
  MpiReporter(const MpiReporter&) = delete;
  MpiReporter& operator=(const MpiReporter&) = delete;

  void begin();  // from here on a failure is reported
  // Completes this rank's reports from now on.
  void also_report(std::function<void(RankReport&)> add);
  // Before the others learn of it.
  void report_failure(const MpiFailure& why);
  // Once every rank that can has written its report.
  void end(bool failed);

 private:
  void watch(const std::stop_token& stop);
  void write(const std::string& life, const MpiFailure* why);

  MpiEngine& engine_;
  const std::filesystem::path run_;  // empty: nowhere
  const std::function<bool()> told_to_end_;
  std::mutex mutex_;
  bool begun_ = false, gave_up_ = false;
  std::function<void(RankReport&)> add_;
  std::jthread watch_;  // last, so that it ends first
};

}  // namespace tessera
