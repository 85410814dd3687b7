// SPDX-License-Identifier: Apache-2.0
#include "comm/failure/report_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "comm/failure/rank_report.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/json_struct.h"
#include "files/storage_error.h"
#include "system/seconds_since.h"

namespace tessera {

template <typename Visit>
void visit_fields(RankReport::Wait& wait, const Visit& visit) {
  visit("rank", wait.rank);
  visit("in", wait.in);
  visit("seconds", wait.seconds);
}

template <typename Visit>
void visit_fields(RankReport& report, const Visit& visit) {
  visit("life", report.life);
  visit("halted", report.halted);
  visit("step", report.step);
  visit("waits", report.waits);
  visit("where", report.where);
  visit("last", report.last);
}

template <typename Visit>
void visit_fields(FiledReport& filed, const Visit& visit) {
  visit("rank", filed.rank);
  visit("ranks", filed.ranks);
  visit("time_ms", filed.time_ms);
  visit("error", filed.error);
  visit("guilty", filed.guilty);
  visit("bad_input", filed.bad_input);
  visit("first", filed.first);
  visit("report", filed.report);
}

namespace {

namespace fs = std::filesystem;

constexpr double kLongestMergeSeconds = 10;  // on a disk that has to be waited for
constexpr const char* kGone = "wrote no report: it was killed, stopped or cut off";

fs::path folder_of(const fs::path& run) { return run / kReportFolder; }
fs::path being_merged(const fs::path& run) { return run / "rank_reports.tmp"; }
fs::path merged(const fs::path& run) { return run / "rank_reports.old"; }
fs::path file_of(const fs::path& run, int rank) {
  return folder_of(run) / fmt::format("rank-{:05}.json", rank);
}

std::string as_text(const FiledReport& filed) { return sorted(to_json(filed)).dump(1); }

std::vector<FiledReport> read_reports(const fs::path& folder) {
  std::vector<FiledReport> reports;
  for (const fs::path& entry : list_folder(folder)) {
    if (entry.extension() != ".json") continue;
    std::ifstream file(entry);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // Else the disk was full: the rank counts as one without a report.
    if (FiledReport filed; read_json(parse_json(text), filed)) reports.push_back(std::move(filed));
  }
  return reports;
}

// By rank.
std::vector<RankReport> reports_by_rank(const std::vector<FiledReport>& reports) {
  std::vector<RankReport> ranks(static_cast<size_t>(reports.front().ranks),
                                RankReport{.life = kGone, .halted = true});
  for (const FiledReport& filed : reports)
    if (filed.rank >= 0 && filed.rank < reports.front().ranks)
      ranks[static_cast<size_t>(filed.rank)] = filed.report;
  return ranks;
}

// The report that says why the job failed: of the rank that failed first, else of one that gave up,
// else any.
const FiledReport& cause_in(const std::vector<FiledReport>& reports) {
  const auto place = [](const FiledReport& filed) {
    return std::tuple(!filed.first, filed.error.empty(), filed.time_ms, filed.rank);
  };
  return *std::min_element(
      reports.begin(), reports.end(),
      [&](const FiledReport& a, const FiledReport& b) { return place(a) < place(b); });
}

std::string opening(const std::vector<FiledReport>& reports, const std::vector<RankReport>& ranks) {
  const FiledReport& cause = cause_in(reports);
  std::string text = cause.error;
  int silent = cause.guilty;
  if (text.empty()) {
    text = fmt::format("rank {} {}", cause.rank, cause.report.life);
    const auto gone = std::find_if(ranks.begin(), ranks.end(),
                                   [](const RankReport& report) { return report.halted; });
    if (gone != ranks.end()) silent = static_cast<int>(gone - ranks.begin());
  }
  if (silent < 0 || static_cast<size_t>(silent) >= ranks.size()) return text;
  const int blamed = first_to_blame(ranks, silent, cause.rank);
  const RankReport& report = ranks[static_cast<size_t>(blamed)];
  if (blamed == cause.guilty && !report.halted) return text;
  return fmt::format("{}; all of it hangs on rank {}, {}", text, blamed, doing(report));
}

// Whether this process is the one that merges: the one that moves the folder away.
bool begin_to_merge(const fs::path& run) {
  std::error_code error;
  fs::rename(folder_of(run), being_merged(run), error);
  return !error;
}

void merge(const fs::path& run) {
  std::vector<FiledReport> reports;
  try {
    reports = read_reports(being_merged(run));
  } catch (const StorageError&) {
    return;  // they stay, and the next start merges them
  }
  const bool worth_it = std::any_of(reports.begin(), reports.end(),
                                    [](const FiledReport& filed) { return !filed.bad_input; });
  if (worth_it) {
    const std::vector<RankReport> ranks = reports_by_rank(reports);
    write_failure_file(run, opening(reports, ranks), ranks);
  }
  // At once, since some of the reports alone would make another failure report.
  std::error_code ignored;
  fs::rename(being_merged(run), merged(run), ignored);
  fs::remove_all(merged(run), ignored);
}

}  // namespace

void open_reports(const fs::path& run) {
  merge_reports(run);
  std::error_code ignored;  // a run without reports is still a run
  fs::create_directories(folder_of(run), ignored);
}

void write_report(const fs::path& run, const FiledReport& filed) {
  std::error_code error;
  if (!fs::is_directory(folder_of(run), error)) return;
  // Not flushed to disk: that may take longer than this process has left. Without room for it, or
  // with the reports merged meanwhile, what brought the rank here matters more.
  const fs::path file = file_of(run, filed.rank);
  const fs::path partial = file.string() + ".tmp";
  const std::string text = as_text(filed);
  const int stream = open_fresh_file(partial);
  if (stream < 0) return;
  const bool whole = ::write(stream, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(stream);
  if (whole) fs::rename(partial, file, error);
}

void merge_reports(const fs::path& run) {
  std::error_code ignored;
  fs::remove_all(merged(run), ignored);
  if (fs::exists(being_merged(run), ignored)) merge(run);
  if (begin_to_merge(run)) merge(run);
}

void merge_reports_once(const fs::path& run) {
  if (begin_to_merge(run)) return merge(run);
  std::error_code ignored;
  const auto begin = std::chrono::steady_clock::now();
  while (fs::exists(being_merged(run), ignored) && seconds_since(begin) < kLongestMergeSeconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void discard_reports(const fs::path& run) {
  std::error_code ignored;
  fs::remove_all(folder_of(run), ignored);
}

}  // namespace tessera
