// SPDX-License-Identifier: Apache-2.0
// Runs a program on all ranks of its mesh as threads of this process.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/local/local_hub.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/local_mesh.h"
#include "exec/rank_executor.h"

namespace tessera {

class MeshExecutor : public LocalMesh {
 public:
  // By place along the pipeline; one where there is none.
  MeshExecutor(std::vector<Program> programs, ExecutorOptions options);
  ~MeshExecutor() override;

  void replace_programs(std::vector<Program> programs, ProgramChange change) override;
  void run(std::string_view script) override;
  NonFinite find_non_finite(std::string_view script) override;
  void write_step(std::string_view name, double value) override;
  std::vector<RankTimes> rank_times() const override;

  CpuExecutor& rank(int rank) const override { return *ranks_[static_cast<size_t>(rank)]; }

 private:
  using Task = std::function<void(CpuExecutor&)>;
  void check_own_programs();
  void serve(RankWorld& world);  // a rank's thread
  void on_all(const Task& task);
  void await_ranks(std::unique_lock<std::mutex>& lock);

  const Program& program_of(int rank) const;

  std::vector<Program> programs_;
  ExecutorOptions options_;
  std::vector<Program> own_programs_;  // by rank, where they differ
  LocalHub hub_;
  std::vector<std::unique_ptr<CpuExecutor>> ranks_;
  std::mutex mutex_;
  std::condition_variable task_given_, task_done_;
  const Task* task_ = nullptr;
  int64_t round_ = 0;  // of tasks
  int waiting_ = 0;    // ranks that have not done this round's task
  bool stopping_ = false, ended_ = false;
  std::exception_ptr error_;
  std::jthread runner_;  // last: it ends before what it uses, also where making this throws
};

}  // namespace tessera
