// SPDX-License-Identifier: Apache-2.0
// A machine that runs programs. It reads the Program alone: no placement, no pass, no model. The
// host hands over states, batches and step values by name, runs a script, and reads back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exec/non_finite.h"
#include "exec/rank_times.h"
#include "program/program.h"

namespace tessera {

// One rank's states where they lie, in its persistent arenas: for whoever copies a rank's own
// pieces and never makes a tensor whole.
class RankStates {
 public:
  virtual ~RankStates() = default;
  virtual int rank() const = 0;
  virtual const Program& program() const = 0;
  // `offset` in bytes of what persists in that memory.
  virtual void read_states(MemorySpace space, int64_t offset, std::span<std::byte> bytes) const = 0;
  virtual void write_states(MemorySpace space, int64_t offset,
                            std::span<const std::byte> bytes) = 0;
};

// How programs that replace others differ from them. Memory: in that alone, so that whatever was
// found in program() stays valid. Inputs: in what is written and read as well; look it up again.
enum class ProgramChange : uint8_t { Memory, Inputs };

class Executor {
 public:
  virtual ~Executor() = default;

  virtual const HostView& program() const = 0;
  virtual int64_t planned_bytes() const = 0;  // of all ranks

  // Sizes must be the buffer's own.
  virtual void write_state(const StateBuffer& state, std::span<const std::byte> bytes) = 0;
  virtual void read_state(const StateBuffer& state, std::span<std::byte> bytes) const = 0;
  virtual void read_gradient(const StateBuffer& parameter, std::span<std::byte> bytes) const = 0;
  virtual void write_batch(const HostBuffer& input, int microbatch,
                           std::span<const std::byte> bytes) = 0;
  virtual void write_step(std::string_view name, double value) = 0;
  virtual double read_step(std::string_view name) const = 0;
  // Of the last step, one after the other in the order of program().loads.
  virtual std::vector<int32_t> read_loads() const = 0;
  virtual void read_output(std::span<std::byte> bytes) const = 0;

  // Of the ranks that run in this process, in their order.
  virtual std::vector<RankStates*> rank_states() = 0;

  // From now on runs these, by place along the pipeline: states stay as they are, and all else has
  // to be written again. All processes of a job call it together.
  virtual void replace_programs(std::vector<Program> programs, ProgramChange change) = 0;

  virtual void run(std::string_view script) = 0;
  // The first value that is not finite when the last training step is computed again: its script
  // runs without updates. Step values and gradients are those of that run afterwards. All processes
  // of a job call it together.
  virtual NonFinite find_non_finite(std::string_view script) = 0;
  // Detaches the observer.
  virtual void stop_observing() {}
  // Of the last script, by rank. All processes of a job ask at the same point.
  virtual std::vector<RankTimes> rank_times() const = 0;
};

// Gives every state its first value: a pure function of (seed, name, element index), whatever the
// machine.
void initialise_states(Executor& executor, uint64_t seed);

// An executor that can make first values where its memory is: initialise_states then makes none on
// the host.
class FirstValueMaker {
 public:
  virtual ~FirstValueMaker() = default;

  // Gives a state what initialise_states would write, bit for bit: the first value of `origin` in
  // the state's dtype. False where it cannot.
  virtual bool make_first_value(const StateBuffer& state, const StateBuffer& origin,
                                uint64_t seed) = 0;
};

}  // namespace tessera
