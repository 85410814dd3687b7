// SPDX-License-Identifier: Apache-2.0
// Every rank's thread owns its executor and serves one task after the other; between tasks the host
// may touch the ranks' memory.
#include "exec/mesh_executor.h"

#include <algorithm>

#include "comm/local/local_report.h"
#include "comm/local/run_ranks.h"
#include "program/check_program.h"
#include "system/threads.h"

namespace tessera {
namespace {

constexpr double kLongestGraceSeconds = 10;  // for ranks to end once one has failed

}  // namespace

MeshExecutor::MeshExecutor(std::vector<Program> programs, ExecutorOptions options)
    : LocalMesh(view_of(programs)),
      programs_(std::move(programs)),
      options_(std::move(options)),
      hub_({.ranks = num_ranks(),
            .arena_bytes = 0,
            .deadline_seconds = options_.deadline_seconds,
            .processes = false}),
      ranks_(static_cast<size_t>(num_ranks())),
      waiting_(num_ranks()) {
  if (options_.change_program) check_own_programs();
  runner_ = start_thread<std::jthread>([this] {
    try {
      run_ranks(
          hub_, [this](RankWorld& world) { serve(world); },
          std::min(options_.deadline_seconds, kLongestGraceSeconds),
          [this] {
            if (options_.on_failure && hub_.failure().kind != Failure::User)
              options_.on_failure(hub_.failure().text, report_ranks(hub_));
          });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    task_done_.notify_all();
  });
  std::unique_lock lock(mutex_);
  await_ranks(lock);  // until all have made their executors
}

const Program& MeshExecutor::program_of(int rank) const {
  if (!own_programs_.empty()) return own_programs_[static_cast<size_t>(rank)];
  return at_place(programs_, rank);
}

void MeshExecutor::check_own_programs() {
  for (int rank = 0; rank < num_ranks(); ++rank) own_programs_.push_back(at_place(programs_, rank));
  std::vector<const Program*> programs;
  for (size_t rank = 0; rank < own_programs_.size(); ++rank) {
    options_.change_program(static_cast<int>(rank), own_programs_[rank]);
    programs.push_back(&own_programs_[rank]);
  }
  for (const Program* program : programs) check_memory(*program);
  check_collectives(programs);
}

MeshExecutor::~MeshExecutor() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  task_given_.notify_all();
}

void MeshExecutor::serve(RankWorld& world) {
  const int rank = world.rank();
  try {
    CpuExecutorOptions options = options_of_rank(options_, rank, &world);
    ranks_[static_cast<size_t>(rank)] =
        std::make_unique<CpuExecutor>(program_of(rank), std::move(options));
    int64_t done = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (--waiting_ == 0) task_done_.notify_all();
      task_given_.wait(lock, [&] { return stopping_ || round_ > done; });
      if (stopping_) break;
      done = round_;
      const Task& task = *task_;
      lock.unlock();
      task(*ranks_[static_cast<size_t>(rank)]);
      lock.lock();
    }
    lock.unlock();
    ranks_[static_cast<size_t>(rank)].reset();  // its groups end before the world does
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;  // or the others would wait for a task for ever
      task_given_.notify_all();
    }
    ranks_[static_cast<size_t>(rank)].reset();
    throw;
  }
}

void MeshExecutor::await_ranks(std::unique_lock<std::mutex>& lock) {
  task_done_.wait(lock, [this] { return ended_ || waiting_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void MeshExecutor::on_all(const Task& task) {
  std::unique_lock lock(mutex_);
  if (error_) std::rethrow_exception(error_);
  task_ = &task;
  waiting_ = num_ranks();
  ++round_;
  task_given_.notify_all();
  await_ranks(lock);
}

void MeshExecutor::replace_programs(std::vector<Program> programs, ProgramChange change) {
  change_view(programs, change);
  programs_ = std::move(programs);
  own_programs_.clear();
  if (options_.change_program) check_own_programs();
  on_all([&](CpuExecutor& rank) { rank.replace_program(program_of(rank.rank()), change); });
}

void MeshExecutor::run(std::string_view script) {
  on_all([&](CpuExecutor& rank) { rank.run(script); });
}

NonFinite MeshExecutor::find_non_finite(std::string_view script) {
  std::vector<NonFinite> found(static_cast<size_t>(num_ranks()));
  on_all([&](CpuExecutor& rank) {
    found[static_cast<size_t>(rank.rank())] = rank.find_non_finite(script);
  });
  return first_of(found);
}

// A failure report names the steps that are done.
void MeshExecutor::write_step(std::string_view name, double value) {
  if (name == "step")
    for (int r = 0; r < num_ranks(); ++r) hub_.seat(r).steps.begin(static_cast<int64_t>(value) - 1);
  LocalMesh::write_step(name, value);
}

std::vector<RankTimes> MeshExecutor::rank_times() const {
  std::vector<RankTimes> times;
  for (const auto& rank : ranks_) times.push_back(rank->own_times());
  return times;
}

}  // namespace tessera
