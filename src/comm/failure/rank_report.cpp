// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/rank_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "files/atomic_file.h"
#include "system/say.h"

namespace tessera {
namespace {

constexpr int64_t kShown = 5;  // collectives of each rank

double seconds_ago(int64_t ns) { return static_cast<double>(steady_now_ns() - ns) * 1e-9; }

std::string entry_text(const CollectiveEntry& entry) {
  return fmt::format("{} over {}", full(entry.header), entry.group.data());
}

std::string with_age(const CollectiveEntry& entry) {
  const int64_t ended = entry.ended_ns;
  if (ended != 0)
    return fmt::format("{}: ended {:.3f} s ago", entry_text(entry), seconds_ago(ended));
  return fmt::format("{}: started {:.3f} s ago, in flight", entry_text(entry),
                     seconds_ago(entry.started_ns));
}

// Of a rank that waits for nobody though it has begun collectives that have not ended.
std::string why_not_waiting(const RankReport& rank) {
  const bool flies = std::ranges::any_of(
      rank.last, [](const std::string& line) { return line.ends_with(", in flight"); });
  if (!flies) return "";
  return rank.life.starts_with("runs") ? ": it does not need yet what is in flight"
                                       : fmt::format(": it {}", rank.life);
}

}  // namespace

RankReport make_report(const CollectiveRecord& record, int64_t step) {
  RankReport report{.step = step};
  const int64_t count = record.count();
  for (int64_t i = count; i-- > std::max<int64_t>(0, count - CollectiveRecord::kEntries);) {
    const CollectiveEntry& entry = record.at(i);
    if (CollectiveRecord::waits(entry))
      report.waits.push_back(
          {entry.waits_for.load(), entry_text(entry), seconds_ago(entry.waits_since_ns)});
    if (i == count - 1)
      report.where =
          fmt::format("{} {}", entry.ended_ns == 0 ? "in" : "after", brief(entry.header));
    if (count - i <= kShown) report.last.push_back(with_age(entry));
  }
  return report;
}

int first_to_blame(std::span<const RankReport> ranks, int silent, int asking) {
  std::vector<int> seen{silent};
  for (size_t i = 0; i < seen.size(); ++i) {
    const RankReport& rank = ranks[static_cast<size_t>(seen[i])];
    if (rank.waits.empty() || rank.halted) return seen[i];
    for (const RankReport::Wait& wait : rank.waits)
      if (wait.rank != asking && std::find(seen.begin(), seen.end(), wait.rank) == seen.end())
        seen.push_back(wait.rank);
  }
  // They wait for each other, as around a host that is cut off: most ranks wait for that one.
  const auto waiting = [&](int rank) {
    return std::count_if(ranks.begin(), ranks.end(), [&](const RankReport& other) {
      return std::any_of(other.waits.begin(), other.waits.end(),
                         [&](const RankReport::Wait& wait) { return wait.rank == rank; });
    });
  };
  return *std::max_element(seen.begin(), seen.end(),
                           [&](int a, int b) { return waiting(a) < waiting(b); });
}

std::string doing(const RankReport& rank) {
  std::string text = "which " + rank.life;
  if (rank.step >= 0) text += fmt::format(", at step {}", rank.step);
  if (!rank.where.empty()) text += ", " + rank.where;
  return text;
}

std::string to_text(std::span<const RankReport> ranks) {
  std::string text = "who waits for whom:\n";
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const RankReport::Wait& wait : ranks[rank].waits)
      text += fmt::format("  rank {} waits for rank {} in {}, for {:.1f} s\n", rank, wait.rank,
                          wait.in, wait.seconds);
    if (ranks[rank].waits.empty())
      text += fmt::format("  rank {} waits for nobody{}\n", rank, why_not_waiting(ranks[rank]));
  }
  text += "the last collectives of each:\n";
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const RankReport& report = ranks[rank];
    text += fmt::format("  rank {} {}{}\n", rank, report.life,
                        report.step < 0 ? "" : fmt::format(", at step {}", report.step));
    for (const std::string& line : report.last) text += fmt::format("    {}\n", line);
  }
  return text;
}

void write_failure_file(const std::filesystem::path& run, std::string_view cause,
                        std::span<const RankReport> ranks) {
  const std::filesystem::path file = run / "failure.txt";
  try {
    write_file_atomically(file, fmt::format("{}\n{}", cause, to_text(ranks)));
    say(stderr, "what every rank was doing: {}\n", file.string());
  } catch (const std::exception& problem) {
    say(stderr, "warning: the failure report could not be written: {}\n", problem.what());
  }
}

}  // namespace tessera
