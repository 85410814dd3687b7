// SPDX-License-Identifier: Apache-2.0
#include "program/program_work.h"

#include <algorithm>
#include <map>

#include "ops/matmul/contraction.h"
#include "program/buffer_types.h"
#include "program/mean_types.h"

namespace tessera {
namespace {

class WorkCount {
 public:
  void add(const Program& program, const Script& script, double ranks) {
    std::map<std::pair<int, RoutineKind>, double> calls;
    for (const ScriptCall& call : script.calls)
      calls[{program.blocks[static_cast<size_t>(call.block)].class_index, call.routine}] += ranks;
    for (const auto& [place, count] : calls) {
      const ProgramClass& program_class = program.classes[static_cast<size_t>(place.first)];
      for (const Instruction& instruction : program_class.routine(place.second))
        add(program_class, instruction, place.second == RoutineKind::Recompute, count);
    }
  }

  ProgramWork finish() {
    double all = 0, passed = 0;
    for (const auto& [side, flops] : matmuls_) all += flops;
    for (const auto& [side, flops] : matmuls_) {
      passed += flops;
      if (2 * passed < all) continue;
      work_.matmul_side = side;
      break;
    }
    return work_;
  }

 private:
  void add(const ProgramClass& program_class, const Instruction& instruction, bool again,
           double count) {
    const auto* kernel = instruction.as<KernelInstruction>();
    if (!kernel || !op_def(kernel->op).cost) return;
    const std::vector<TensorType> operands = mean_types_of(program_class, kernel->operands);
    const std::vector<TensorType> results = mean_types_of(program_class, kernel->results);
    const Cost cost = op_def(kernel->op).cost({kernel->op, kernel->attributes, operands, results});
    const double flops = count * static_cast<double>(cost.flops);
    work_.flops += flops;
    if (again || instruction.phase == Phase::Recompute) work_.recompute_flops += flops;
    if (!is_contraction(kernel->op)) return;
    const Contraction c = contraction_of(operands[0], operands[1]);
    matmuls_[std::min({c.m, c.n, c.k})] += flops;
  }

  ProgramWork work_;
  std::map<int64_t, double> matmuls_;  // flops by smallest side
};

}  // namespace

Cost cost_of(const Program& program, const ProgramClass& program_class,
             const Instruction& instruction) {
  const std::vector<TensorType> operands = mean_types_of(program_class, reads(instruction));
  const std::vector<TensorType> results = mean_types_of(program_class, writes(instruction));
  Cost cost{.bytes = bytes_of(operands) + bytes_of(results)};
  if (const auto* kernel = instruction.as<KernelInstruction>(); kernel && op_def(kernel->op).cost)
    return op_def(kernel->op).cost({kernel->op, kernel->attributes, operands, results});
  const auto* collective = instruction.as<CollectiveInstruction>();
  if (collective &&
      (collective->op == CollectiveOp::AllReduce || collective->op == CollectiveOp::ReduceScatter))
    cost.flops = (program.group_of(*collective).size - 1) * results[0].num_elements();
  return cost;
}

ProgramWork work_of(std::span<const Program> programs, std::string_view script) {
  WorkCount count;
  for (const Program& program : programs)
    count.add(program, program.script(script),
              static_cast<double>(program.mesh.num_ranks()) / static_cast<double>(programs.size()));
  return count.finish();
}

}  // namespace tessera
