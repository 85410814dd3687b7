// SPDX-License-Identifier: Apache-2.0
// One rank of a program, on any machine. What the host writes and reads are whole tensors, of which
// the rank takes and gives its own pieces; an instruction's buffers are bound to addresses in its
// arenas. The machine says where these lie and how bytes get there.
#pragma once

#include <chrono>
#include <functional>

#include "comm/failure/rank_report.h"
#include "exec/bound_call.h"
#include "exec/executor.h"

namespace tessera {

// What an observer sees around each instruction; for tests of the memory plan and for profiles.
struct InstructionEvent {
  const Program& program;
  const ScriptCall& call;
  const ProgramClass& program_class;
  const Instruction& instruction;
  const BoundCall& bound;
  bool finished;                               // false: about to run
  std::chrono::steady_clock::time_point time;  // a GPU tells of it later
};
using RankObserver = std::function<void(int rank, const InstructionEvent&)>;
// Says before an instruction whether the first number that it reads must become a NaN.
using RankFault = std::function<bool(int rank, const InstructionEvent&)>;

class RankExecutor : public Executor, public RankStates {
 public:
  const Program& program() const override { return program_; }
  int rank() const override { return rank_; }

  // Of a pipeline's tensors a rank takes and gives those that its stages have.
  void write_state(const StateBuffer& state, std::span<const std::byte> bytes) override;
  void read_state(const StateBuffer& state, std::span<std::byte> bytes) const override;
  void read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const override;
  void write_batch(const HostBuffer& input, int microbatch,
                   std::span<const std::byte> bytes) override;
  void write_step(std::string_view name, double value) override;
  double read_step(std::string_view name) const override;
  std::vector<int32_t> read_loads() const override;
  // Those of its own blocks, at their places in a list for all stages: `loads` as in `view`.
  void read_loads(const HostView& view, std::span<int32_t> loads) const;
  void read_output(std::span<std::byte> bytes) const override;
  std::vector<RankStates*> rank_states() override { return {this}; }
  void read_states(MemorySpace space, int64_t offset, std::span<std::byte> bytes) const override;
  void write_states(MemorySpace space, int64_t offset, std::span<const std::byte> bytes) override;
  void replace_programs(std::vector<Program> programs, ProgramChange change) override {
    replace_program(at_place(programs, rank_), change);
  }
  virtual void replace_program(Program program, ProgramChange change) = 0;

  virtual std::span<std::byte> arena(Lifetime lifetime) const = 0;  // in the device's own memory
  virtual std::span<std::byte> host_arena(Lifetime lifetime) const = 0;
  std::span<std::byte> arena(MemorySpace space, Lifetime lifetime) const {
    return space == MemorySpace::Host ? host_arena(lifetime) : arena(lifetime);
  }

 protected:
  RankExecutor(Program program, int rank);

  virtual void copy_in(std::byte* to, std::span<const std::byte> bytes) = 0;
  virtual void copy_out(std::span<std::byte> bytes, const std::byte* from) const = 0;
  // Of batches and step values: it is enough that they are there when the next script begins.
  virtual void copy_input(std::byte* to, std::span<const std::byte> bytes) = 0;

  // In place of the one that it has; both must keep the same states in the same places.
  void take_program(Program program, ProgramChange change);
  void write_rank_values();
  // Valid until the next call. `accumulator` counts the routine's accumulator writes so far.
  const BoundCall& bind(const ScriptCall& call, const ProgramBlock& block,
                        const Instruction& instruction, size_t& accumulator);

  virtual void poison(std::span<std::byte> bytes) = 0;                    // fills them with NaNs
  void put_nan(const BoundCall& bound);                                   // a fault on purpose
  void poison_before(const ScriptCall& call, const ProgramBlock& block);  // the routine's slots
  void poison_after(const ScriptCall& call, const ProgramBlock& block,
                    const Instruction& instruction);

  Program program_;

 private:
  std::byte* address(const ScriptCall& call, const ProgramBlock& block, int buffer) const;
  std::span<std::byte> bytes_of(const ScriptCall& call, const ProgramBlock& block,
                                int buffer) const;
  void read_pieces(const TensorType& type, const Placement& placement, const FlatPlace& place,
                   std::span<std::byte> bytes) const;

  void make_bindings();

  int rank_;
  std::vector<Program> replaced_;              // traces name calls of these
  std::vector<TensorRef> operands_, results_;  // reused by every instruction
  BoundCall bound_;
};

// How programs are run, on any device.
struct ExecutorOptions {
  int threads = 1;      // of each rank; a GPU's enqueues with one
  bool poison = false;  // fill arenas with NaNs first, and buffers again when they die
  // Waits after every instruction, so that an error names the one that made it; slow. A CPU always
  // does, and CUDA_LAUNCH_BLOCKING asks for it, too.
  bool wait_for_each = false;
  bool repeatable = true;  // else a GPU may add sums in any order
  // Of every wait for another rank. A thread that hangs cannot be ended: it is named, and the
  // process ends with kPeerExitStatus.
  double deadline_seconds = 120;
  // Called once, when ranks that run in this process have failed through no fault of the user's:
  // why, and what each was doing.
  std::function<void(std::string_view cause, std::span<const RankReport>)> on_failure = {};
  // Called on the rank's own thread; on a GPU when the script is done, with the GPU's times. Steps
  // are no graphs there while there is one.
  RankObserver observer = {};
  // Faults on purpose: called before an instruction runs, on a GPU before it is enqueued. Steps are
  // no graphs there while there is one.
  RankFault fault = {};
  // Gives a rank on the CPU a program of its own; the ranks' collectives are then checked against
  // each other.
  std::function<void(int rank, Program&)> change_program = {};
};

}  // namespace tessera
