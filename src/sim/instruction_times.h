// SPDX-License-Identifier: Apache-2.0
// Seconds of every instruction of a program, computed once per block class, when they are first
// needed: script calls reuse them.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "program/program.h"
#include "sim/cluster.h"
#include "sim/collective_cost.h"
#include "sim/kernel_cost.h"
#include "sim/simulate.h"

namespace tessera {

struct TimedInstruction {
  enum class Kind : uint8_t { Kernel, Collective, Wait };
  Kind kind = Kind::Kernel;
  double seconds = 0;
  bool async = false;         // of a collective: another instruction waits for it
  bool crosses = false;       // of a collective: its members run different programs
  int launches = 1;           // of an eager host, which joins no kernels
  bool needs_counts = false;  // it sends rows to experts: eager hosts wait for their numbers first
  // Of a collective: the outermost level that it spans, whose links it takes. Of a copy between
  // device and host: that link, one for each direction, after all levels.
  size_t level = 0;
  int64_t bytes = 0;  // as shown in a trace
};

class InstructionTimes {
 public:
  InstructionTimes(const Program& program, const Cluster& cluster, const SimulateOptions& options);

  const std::vector<TimedInstruction>& of(int class_index, RoutineKind routine);

 private:
  // The rows of the fullest rank's experts in a class, relative to the mean.
  double load_of(const ProgramClass& program_class);
  static int unjoined(const KernelInstruction& kernel);
  void join_products(const ProgramClass& program_class,
                     const std::vector<Instruction>& instructions,
                     std::vector<TimedInstruction>& times) const;
  TimedInstruction timed(const ProgramClass& program_class, const Instruction& instruction);
  TimedInstruction timed_transfer(const ProgramClass& program_class,
                                  const Instruction& instruction);
  static bool crosses_spaces(const ProgramClass& program_class, const CopyInstruction& copy);
  TimedInstruction timed_host_copy(const ProgramClass& program_class, const CopyInstruction& copy);
  void use_unit_cost(const Script& script, const UnitCost& cost);

  const Program& program_;
  const Cluster& cluster_;
  const LoadModel load_;
  const RowCopies copies_;
  const OtherLayer layer_;
  KernelCost kernels_;
  std::map<std::pair<int64_t, int64_t>, double> loads_;  // by experts and ranks that share them
  std::map<AxisIds, std::vector<GroupShape>> shapes_;
  std::vector<std::array<std::vector<TimedInstruction>, kNumRoutineKinds>> times_;
};

// How long one routine of one block takes alone, on idle links: a lower bound for its time in a
// script.
struct RoutineSeconds {
  double alone = 0;
  double left_under_way = 0;  // of collectives that it starts and another routine waits for
};

RoutineSeconds routine_seconds(const Program& program, const Cluster& cluster, int block,
                               RoutineKind routine);

}  // namespace tessera
