// SPDX-License-Identifier: Apache-2.0
#include "cli/supervised_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/run_identity.h"
#include "cli/command_line.h"
#include "files/folder.h"
#include "files/storage_error.h"
#include "record/run_folder.h"
#include "system/random_name.h"
#include "system/say.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

constexpr const char* kAdvice =
    "check that its disk is mounted; nothing was deleted, and --resume continues from the "
    "newest checkpoint";

// A supervisor blocks the stop signals, and checks for them while it waits.
void end_if_asked() {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&pending, signal) == 1) throw ExitStatus(128 + signal);
}

void wait_for(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (seconds_since(begin) < seconds) {
    end_if_asked();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

SupervisedFolder::SupervisedFolder(std::filesystem::path out, bool resumes, double patience_seconds,
                                   const std::string& run_id)
    : out_(std::move(out)), patience_seconds_(patience_seconds) {
  if (resumes)
    require_checkpoints(out_, /*run_id=*/"");
  else
    make_folder(out_);
  first_place_ = place();
  const std::optional<RunIdentity> identity = read_run_identity(out_);
  if (identity) first_run_ = identity->id;
  run_id_ = !run_id.empty() ? run_id : resumes && identity ? identity->id : random_name();
}

SupervisedFolder::Place SupervisedFolder::place() const {
  struct stat status {};
  if (::stat(out_.c_str(), &status) != 0)
    throw StorageError(
        fmt::format("cannot reach {}: {}{}", out_.string(), errno_text(errno), last_seen()),
        kAdvice);
  return {status.st_dev, status.st_ino};
}

std::string SupervisedFolder::last_seen() const {
  if (newest_seen_ < 0) return "";
  return fmt::format("; the newest checkpoint seen there was of step {}", newest_seen_);
}

int64_t SupervisedFolder::newest_step(const RunIdentity& identity) const {
  const std::vector<StepFolder> folders = step_folders(checkpoints_of(out_));
  for (size_t i = folders.size(); i-- > 0;) {
    try {
      if (identity.may_continue_from(read_manifest(folders[i].path).facts)) return folders[i].step;
    } catch (const UserError&) {
      // No complete manifest: the run reports what is wrong with it when it resumes.
    }
  }
  return -1;
}

SupervisedFolder::Found SupervisedFolder::look_once() {
  const bool same_place = place() == first_place_;
  const std::optional<RunIdentity> identity = read_run_identity(out_);
  const std::string run = identity ? identity->id : "";
  if (run != run_id_ && run == first_run_ && same_place) return {};
  if (run != run_id_)
    throw StorageError(
        fmt::format("{} is not the folder that this run began in: {}{}", out_.string(),
                    identity ? "it belongs to run " + run : "it has no run.json", last_seen()),
        kAdvice);
  const int64_t newest = newest_step(*identity);
  newest_seen_ = std::max({newest_seen_, newest, last_recorded_save(out_).value_or(-1)});
  if (newest < 0 && newest_seen_ >= 0)
    throw StorageError(fmt::format("no checkpoint of this run can be found in {}, but step {} was "
                                   "saved there",
                                   checkpoints_of(out_).string(), newest_seen_),
                       kAdvice);
  return {.begun = true, .newest_step = newest};
}

SupervisedFolder::Found SupervisedFolder::look() {
  constexpr double kFirstPauseSeconds = 0.1, kLongestPauseSeconds = 5;
  const auto begin = std::chrono::steady_clock::now();
  for (double pause = kFirstPauseSeconds;; pause = std::min(2 * pause, kLongestPauseSeconds)) {
    try {
      return look_once();
    } catch (const StorageError& error) {
      const double left = patience_seconds_ - seconds_since(begin);
      if (left <= 0) throw;
      if (pause == kFirstPauseSeconds)
        say(stderr, "supervisor: {}; looking again for {:.3g} s\n", error.message(), left);
    }
    wait_for(pause);
  }
}

void SupervisedFolder::glance() {
  constexpr double kBetweenSeconds = 1;
  if (seconds_since(last_glance_) < kBetweenSeconds) return;
  last_glance_ = std::chrono::steady_clock::now();
  try {
    const std::vector<StepFolder> folders = step_folders(checkpoints_of(out_));
    if (folders.empty() || folders.back().step <= newest_seen_) return;
    const std::optional<RunIdentity> identity = read_run_identity(out_);
    if (identity && identity->id == run_id_)
      newest_seen_ = std::max(newest_seen_, newest_step(*identity));
  } catch (const std::exception&) {
    // It does not matter while the run continues.
  }
}

}  // namespace tessera
