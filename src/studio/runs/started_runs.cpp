// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/started_runs.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>

#include "core/error.h"
#include "studio/runs/run_files.h"
#include "system/process.h"

namespace tessera {
namespace {

constexpr size_t kMostRunning = 4;
constexpr std::chrono::milliseconds kBetweenLooksAtChildren{50};

}  // namespace

StartedRuns::StartedRuns(std::filesystem::path folder) : folder_(std::move(folder)) {
  keeper_ = std::thread([this] { keep_children(); });
}

StartedRuns::~StartedRuns() {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, kept] : runs_) kept.child->send(SIGTERM);
    ended_ = true;
    changed_.notify_all();
  }
  keeper_.join();
}

// Children get a signal when the thread that started them ends: it ends last.
void StartedRuns::keep_children() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (order_) {
      order_();
      order_ = nullptr;
      changed_.notify_all();
    }
    bool any = false;
    for (auto& [id, kept] : runs_) {
      const std::optional<int> code = kept.child->ended();
      kept.run.ended = code.has_value();
      kept.run.code = code.value_or(0);
      any = any || !code;
    }
    if (ended_ && !any) return;
    const auto called = [&] { return order_ != nullptr || (ended_ && !any); };
    if (any)
      changed_.wait_for(lock, kBetweenLooksAtChildren, called);
    else
      changed_.wait(lock, called);
  }
}

size_t StartedRuns::count() const {
  return static_cast<size_t>(
      std::ranges::count_if(runs_, [](const auto& one) { return !one.second.run.ended; }));
}

void StartedRuns::check_room() const {
  if (count() >= kMostRunning)
    throw user_error("{} runs that Studio has started are going on", kMostRunning)
        .help("stop one, or wait until it has ended");
}

void StartedRuns::check_ended(const std::string& id) const {
  if (const auto found = runs_.find(id); found != runs_.end() && !found->second.run.ended)
    throw UserError("the run is going on").help("stop it first");
}

void StartedRuns::start(const RunToStart& run) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !order_; });
  check_room();
  check_ended(run.id);
  std::exception_ptr failed;
  bool done = false;
  order_ = [&] {
    try {
      runs_[run.id] = {.child = std::make_unique<OwnChild>(run.words, run.folder / kOutputFile),
                       .run = {.supervised = run.supervised, .ranks = run.ranks}};
    } catch (...) {
      failed = std::current_exception();
      runs_.erase(run.id);
    }
    done = true;
  };
  changed_.notify_all();
  changed_.wait(lock, [&] { return done; });
  if (failed) std::rethrow_exception(failed);
}

StartedRuns::Kept& StartedRuns::running(const std::string& id) {
  const auto found = runs_.find(id);
  if (found == runs_.end())
    throw UserError("this Studio did not start that run, and sends it no signals")
        .help("stop it where it was started");
  if (found->second.child->ended()) throw UserError("the run has ended").help("resume it");
  return found->second;
}

void StartedRuns::stop(const std::string& id, bool now) {
  const std::lock_guard lock(mutex_);
  Kept& kept = running(id);
  if (now && !kept.run.stopping)
    throw UserError("the run was not asked to stop yet").help("stop it first: it saves");
  if (kept.run.stopping && !now) return;  // a second signal would end it without a word
  kept.child->send(SIGTERM);
  kept.run.stopping = true;
}

void StartedRuns::kill_rank(const std::string& id, int rank) {
  const std::lock_guard lock(mutex_);
  const Kept& kept = running(id);
  if (!kept.run.supervised)
    throw UserError("the ranks of this run are threads of one process: none can die alone")
        .help("start a run whose ranks are processes");
  if (rank >= kept.run.ranks)
    throw user_error("the run has no rank {}", rank)
        .help(fmt::format("it has ranks 0 to {}", kept.run.ranks - 1));
  // The supervisor's child is the job, and the job's children are its ranks; a single rank is the
  // job itself.
  const pid_t supervisor = kept.child->process();
  const std::vector<pid_t> jobs = children_of(supervisor);
  const bool killed = jobs.size() == 1 &&
                      (kept.run.ranks == 1 ? kill_child_of(supervisor, 0, 1)
                                           : kill_child_of(jobs[0], static_cast<size_t>(rank),
                                                           static_cast<size_t>(kept.run.ranks)));
  if (!killed)
    throw UserError("the ranks are just starting or ending").help("try again in a second");
}

std::optional<StartedRun> StartedRuns::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = runs_.find(id);
  return found == runs_.end() ? std::nullopt : std::optional(found->second.run);
}

size_t StartedRuns::count_running() const {
  const std::lock_guard lock(mutex_);
  return count();
}

void StartedRuns::require_room() const {
  const std::lock_guard lock(mutex_);
  check_room();
}

void StartedRuns::require_ended(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  check_ended(id);
}

}  // namespace tessera
