// SPDX-License-Identifier: Apache-2.0
// The failure report of a job whose ranks share no memory: each writes its own report as a small
// file in `rank_reports/` of the run's folder, and one process merges them into `failure.txt`. The
// folder exists from the start of a job until then, so a rank that wakes up too late adds nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "comm/failure/rank_report.h"

namespace tessera {

inline constexpr const char* kReportFolder = "rank_reports";

struct FiledReport {
  int rank = 0, ranks = 1;
  int64_t time_ms = 0;     // of the system's clock
  std::string error = {};  // why it gave up; empty where it has not
  int guilty = -1;         // whom the error names
  bool bad_input = false;  // the error is the user's
  bool first = false;      // nobody had failed before, as far as the rank knows
  RankReport report = {};
};

// At the start of a job, by one rank: merges what an earlier job has left, and makes the folder.
void open_reports(const std::filesystem::path& run);
// As often as there is more to say; replaces the rank's earlier report. Without the folder nothing
// is written.
void write_report(const std::filesystem::path& run, const FiledReport& report);
// Writes failure.txt, says so on stderr, and removes the folder. Does nothing where there are no
// reports, or all ranks ended for bad input. For a process that is left when all ranks have ended:
// it also merges what a rank had begun to merge when it was killed.
void merge_reports(const std::filesystem::path& run);
// The same by one of several ranks that are about to end: the first merges, and the others return
// when it is done, since the end of one may be the end of all.
void merge_reports_once(const std::filesystem::path& run);
void discard_reports(const std::filesystem::path& run);  // the job succeeded

}  // namespace tessera
