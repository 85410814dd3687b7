// SPDX-License-Identifier: Apache-2.0
#include "comm/local/local_report.h"

#include "comm/failure/rank_report.h"
#include "system/process.h"

namespace tessera {
namespace {

void look_at_process(RankReport& report, int process, bool by_itself) {
  const char state = process_state(process);
  if (state == 'T' || state == 't') {
    report.life = fmt::format("is stopped (process {})", process);
    report.halted = true;
  } else if (state == 'Z' || state == 'X' || state == '\0') {
    report.life = by_itself ? "is dead" : "ended when it was told";
  }
}

}  // namespace

std::vector<RankReport> report_ranks(const LocalHub& hub) {
  const int guilty = hub.failed() ? hub.failure().guilty_rank : -1;  // -1: no failure yet
  std::vector<RankReport> reports;
  for (int rank = 0; rank < hub.options().ranks; ++rank) {
    const Seat& seat = hub.seat(rank);
    RankReport& report = reports.emplace_back(make_report(seat.record, seat.steps.step));
    if (seat.life == Seat::Ended)
      report.life = "has ended";
    else if (hub.options().processes)
      look_at_process(report, seat.process, guilty < 0 || rank == guilty);
    else if (seat.life == Seat::Failed)
      report.life = "gave up";
  }
  return reports;
}

void write_failure_report(const LocalHub& hub, const std::filesystem::path& run) {
  const Failure& failure = hub.failure();
  std::error_code ignored;
  if (failure.kind == Failure::User || !std::filesystem::exists(run, ignored)) return;
  write_failure_file(run, failure.text, report_ranks(hub));
}

}  // namespace tessera
