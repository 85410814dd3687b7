// SPDX-License-Identifier: Apache-2.0
// Runs a program on this machine's CPU: one rank, its arenas and its threads. After the first run
// of a script nothing is allocated.
#pragma once

#include <array>
#include <functional>

#include "exec/cpu/arena.h"
#include "exec/instruction_runner.h"
#include "exec/rank_executor.h"

namespace tessera {

ByteMover memory_mover();

// Runs one instruction on the CPU: a kernel here, anything else by the runner. A collective without
// a wait of its own is waited for at once. `channel` is that of the script call; kNone: it has
// none.
void run_instruction(const Instruction& instruction, int channel, const BoundCall& bound,
                     InstructionRunner& runner, ThreadPool& threads);

struct CpuExecutorOptions {
  int threads = 1;
  RankWorld* world = nullptr;  // the ranks of the program's mesh; null: there is one
  bool poison = false;         // fill arenas with NaNs first, and buffers again when they die
  std::function<void(const InstructionEvent&)> observer = {};
  std::function<bool(const InstructionEvent&)> fault = {};  // as ExecutorOptions'
};

// What one rank takes of the options for all.
CpuExecutorOptions options_of_rank(const ExecutorOptions& options, int rank, RankWorld* world);

class CpuExecutor : public RankExecutor {
 public:
  CpuExecutor(Program program, CpuExecutorOptions options);

  int64_t planned_bytes() const override { return program_.peak_bytes() + program_.host_bytes(); }
  void replace_program(Program program, ProgramChange change) override;
  void run(std::string_view script) override;
  NonFinite find_non_finite(std::string_view script) override;
  std::vector<RankTimes> rank_times() const override { return {times_}; }

  const RankTimes& own_times() const { return times_; }
  std::span<std::byte> arena(Lifetime lifetime) const override;
  std::span<std::byte> host_arena(Lifetime lifetime) const override;

 private:
  void copy_in(std::byte* to, std::span<const std::byte> bytes) override;
  void copy_out(std::span<std::byte> bytes, const std::byte* from) const override;
  void copy_input(std::byte* to, std::span<const std::byte> bytes) override { copy_in(to, bytes); }
  void poison(std::span<std::byte> bytes) override;

  void poison_arenas();
  void run(const Script& script);
  void run(const ScriptCall& call);
  void tell(const InstructionEvent& event);
  void look_at(const ScriptCall& call, const Instruction& instruction, const BoundCall& bound);
  void run_timed(const ScriptCall& call, const Instruction& instruction, const BoundCall& bound);

  CpuExecutorOptions options_;
  RankGroups groups_;
  InstructionRunner runner_;
  Arena persistent_, window_, slots_, scratch_;  // what a plan calls the device
  Arena host_persistent_, host_slots_, host_scratch_;
  ThreadPool threads_;
  RankTimes times_;             // of the last script
  NonFinite* found_ = nullptr;  // while it is looked for
};

}  // namespace tessera
