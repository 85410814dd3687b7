// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/mpi_reporter.h"

#include <unistd.h>

#include <chrono>
#include <condition_variable>

#include "comm/failure/report_folder.h"
#include "system/threads.h"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kLook{20};
// A report is written twice: at once, and when the rank has had time to reach what it will wait in.
// mpirun kills a second after it has told ranks to end.
constexpr std::chrono::milliseconds kSecondReport{300};

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

MpiReporter::MpiReporter(MpiEngine& engine, const MpiOptions& options)
    : engine_(engine),
      run_(options.run_folder),
      told_to_end_(options.told_to_end),
      watch_(start_thread<std::jthread>([this](const std::stop_token& stop) { watch(stop); })) {}

void MpiReporter::begin() {
  const std::lock_guard lock(mutex_);
  if (begun_ || run_.empty()) return;
  begun_ = true;
  if (engine_.rank() == 0) open_reports(run_);
}

void MpiReporter::also_report(std::function<void(RankReport&)> add) {
  const std::lock_guard lock(mutex_);
  add_ = std::move(add);
}

void MpiReporter::watch(const std::stop_token& stop) {
  std::mutex nobody;
  std::condition_variable_any never;
  std::unique_lock lock(nobody);
  for (int written = 0; written < 2 && !stop.stop_requested();) {
    const bool told = told_to_end_ && told_to_end_();
    if (told || engine_.failure()) {
      write(told ? "was told to end by SIGTERM" : "runs", nullptr);
      ++written;
    }
    never.wait_for(lock, stop, written > 0 ? kSecondReport : kLook, [] { return false; });
  }
}

void MpiReporter::report_failure(const MpiFailure& why) { write("gave up", &why); }

void MpiReporter::write(const std::string& life, const MpiFailure* why) {
  const std::lock_guard lock(mutex_);
  if (!begun_ || gave_up_) return;
  FiledReport filed{.rank = engine_.rank(),
                    .ranks = engine_.size(),
                    .time_ms = now_ms(),
                    .report = make_report(engine_.record(), engine_.steps().step)};
  filed.report.life = fmt::format("{} (process {})", life, getpid());
  if (add_) add_(filed.report);
  if (why) {
    const std::optional<MpiFailure> known = engine_.failure();
    filed.error = why->text;
    filed.guilty = why->guilty_rank;
    filed.bad_input = why->bad_input;
    filed.first = !known || known->text == why->text;
    gave_up_ = true;
  }
  write_report(run_, filed);
}

void MpiReporter::end(bool failed) {
  const std::lock_guard lock(mutex_);
  if (!begun_) return;
  if (!failed && engine_.rank() == 0) discard_reports(run_);
  // Before this rank ends: mpirun then wakes up those that are stopped, and kills the others.
  if (failed) merge_reports_once(run_);
}

}  // namespace tessera
