// SPDX-License-Identifier: Apache-2.0
// Runs a program on this machine's CPU: one rank, its arenas and its threads. What the host writes
// and reads are whole tensors: the rank takes and gives its own pieces. After the first run of a
// script nothing is allocated.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "exec/cpu/arena.h"
#include "exec/cpu/cpu_call.h"
#include "exec/executor.h"
#include "exec/in_flight.h"
#include "exec/rank_groups.h"

namespace tessera {

// What an observer sees around each instruction; for tests of the memory plan and for profiles.
struct InstructionEvent {
  const Program& program;
  const ScriptCall& call;
  const ProgramClass& program_class;
  const Instruction& instruction;
  const CpuCall& cpu_call;
  bool finished;  // false: about to run
};

struct CpuExecutorOptions {
  int threads = 1;
  RankWorld* world = nullptr;  // the ranks of the program's mesh; null: there is one
  bool poison = false;         // fill arenas with NaNs first, and buffers again when they die
  std::function<void(const InstructionEvent&)> observer = {};
};

class CpuExecutor : public Executor, public RankStates {
 public:
  CpuExecutor(Program program, CpuExecutorOptions options);

  const Program& program() const override { return program_; }
  int64_t planned_bytes() const override {
    return program_.peak_bytes() * program_.mesh.num_ranks();
  }
  // Of a pipeline's tensors a rank takes and gives those that its stages have.
  void write_state(const StateBuffer& state, std::span<const std::byte> bytes) override;
  void read_state(const StateBuffer& state, std::span<std::byte> bytes) const override;
  void read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const override;
  void write_batch(const HostBuffer& input, int microbatch,
                   std::span<const std::byte> bytes) override;
  void write_step(std::string_view name, double value) override;
  double read_step(std::string_view name) const override;
  void read_output(std::span<std::byte> bytes) const override;
  std::vector<RankStates*> rank_states() override { return {this}; }
  void read_states(int64_t offset, std::span<std::byte> bytes) const override;
  void write_states(int64_t offset, std::span<const std::byte> bytes) override;
  void run(std::string_view script) override;
  std::vector<RankTimes> rank_times() const override { return {times_}; }

  const RankTimes& own_times() const { return times_; }
  int rank() const override { return options_.world ? options_.world->rank() : 0; }
  std::span<std::byte> arena(Lifetime lifetime) const;

 private:
  void run(const Script& script);
  void read_pieces(const TensorType& type, const Placement& placement, const FlatPlace& place,
                   std::span<std::byte> bytes) const;
  std::byte* address(const ScriptCall& call, const ProgramBlock& block, int buffer) const;
  void run(const ScriptCall& call);
  std::span<std::byte> bytes_of(const ScriptCall& call, const ProgramBlock& block,
                                int buffer) const;
  void run_timed(const ScriptCall& call, const CpuCall& cpu_call);
  void poison_before(const ScriptCall& call, const ProgramBlock& block);  // the routine's slots
  void poison_after(const ScriptCall& call, const ProgramBlock& block,
                    const Instruction& instruction);

  Program program_;
  CpuExecutorOptions options_;
  std::unique_ptr<RankGroups> groups_;
  InFlight in_flight_;
  int shard_ = 0;  // which one of the states at rest this rank holds
  Arena persistent_, window_, slots_, scratch_;
  ThreadPool threads_;
  RankTimes times_;                            // of the last script
  std::vector<TensorRef> operands_, results_;  // reused by every instruction
};

}  // namespace tessera
