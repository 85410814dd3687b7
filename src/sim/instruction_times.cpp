// SPDX-License-Identifier: Apache-2.0
#include "sim/instruction_times.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "ir/op_list.h"
#include "program/buffer_types.h"
#include "program/mean_types.h"
#include "sim/rank_walk.h"

namespace tessera {

InstructionTimes::InstructionTimes(const Program& program, const Cluster& cluster,
                                   const SimulateOptions& options)
    : program_(program),
      cluster_(cluster),
      load_(options.load),
      copies_(options.copies),
      layer_(options.layer),
      kernels_(cluster, {.threads = program.threads,
                         .ranks = program.mesh.num_ranks(),
                         .cool = options.cool,
                         .attention = options.attention,
                         .extra_passes = options.extra_passes,
                         .loss = options.loss,
                         .layer = options.layer,
                         .joins = options.eager_seconds == 0}),
      times_(program.classes.size()) {
  if (options.unit_cost) use_unit_cost(program.script(options.script), *options.unit_cost);
}

const std::vector<TimedInstruction>& InstructionTimes::of(int class_index, RoutineKind routine) {
  const ProgramClass& program_class = program_.classes[static_cast<size_t>(class_index)];
  const std::vector<Instruction>& instructions = program_class.routine(routine);
  auto& times = times_[static_cast<size_t>(class_index)][static_cast<size_t>(routine)];
  if (times.size() < instructions.size()) {
    for (const Instruction& instruction : instructions)
      times.push_back(timed(program_class, instruction));
    join_products(program_class, instructions, times);
  }
  return times;
}

// One product reads its operand once, and is launched once.
void InstructionTimes::join_products(const ProgramClass& program_class,
                                     const std::vector<Instruction>& instructions,
                                     std::vector<TimedInstruction>& times) const {
  const std::vector<QkvPart> parts = qkv_parts(layer_, instructions);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == QkvPart::None) continue;
    const std::array read{reads(instructions[i]).front()};
    const auto bytes = static_cast<double>(bytes_of(program_class, read));
    times[i].seconds = parts[i] == QkvPart::Sum
                           ? 0
                           : std::max(0.0, times[i].seconds - kernels_.memory_seconds(bytes));
    times[i].launches = 0;
  }
}

double InstructionTimes::load_of(const ProgramClass& program_class) {
  if (load_.kind == LoadModel::Kind::Uniform) return 1;
  const ExpertShare share = expert_share_of(program_class);
  const auto [found, fresh] = loads_.try_emplace({share.experts, share.ranks()}, 1.0);
  if (fresh) found->second = fullest_rank(load_, share.experts, share.ranks());
  return found->second;
}

// Kernels that `fuse` has joined to this one: without them it does not matter to a host whether
// the product is a sum over ranks, after which nothing can be joined.
int InstructionTimes::unjoined(const KernelInstruction& kernel) {
  if (kernel.op != OpKind::matmul_epilogue) return 1;
  const std::string& activation = kernel.attributes.word("activation");
  const auto more = static_cast<int>(kernel.operands.size()) - 2;
  return 1 + more + (activation == "none" || activation.ends_with("_grad") ? 0 : 1);
}

TimedInstruction InstructionTimes::timed(const ProgramClass& program_class,
                                         const Instruction& instruction) {
  using Kind = TimedInstruction::Kind;
  if (instruction.as<WaitInstruction>())
    return {.kind = Kind::Wait, .bytes = bytes_of(program_class, writes(instruction))};
  if (has_peers(instruction, program_)) return timed_transfer(program_class, instruction);
  const double load = load_of(program_class);
  const std::vector<TensorType> operands = mean_types_of(program_class, reads(instruction), load);
  const std::vector<TensorType> results = mean_types_of(program_class, writes(instruction), load);
  TimedInstruction timed{.kind = Kind::Kernel, .bytes = bytes_of(operands) + bytes_of(results)};
  static const Attributes kNoAttributes;
  if (cluster_.host && space_of(instruction, program_class) == MemorySpace::Host)
    timed.seconds = static_cast<double>(timed.bytes) *
                    std::min(cluster_.host->devices, program_.mesh.num_ranks()) /
                    cluster_.host->memory_bandwidth.value;
  else if (const auto* kernel = instruction.as<KernelInstruction>())
    timed = {.kind = Kind::Kernel,
             .seconds = kernels_.seconds({kernel->op, kernel->attributes, operands, results}),
             .launches = unjoined(*kernel) + launched_by_layer(layer_, *kernel),
             .bytes = timed.bytes};
  else if (instruction.as<ClearInstruction>())
    timed.seconds = kernels_.seconds({OpKind::clear_gaps, kNoAttributes, operands, results});
  else if (const auto* copy = instruction.as<CopyInstruction>();
           copy && cluster_.host && crosses_spaces(program_class, *copy))
    return timed_host_copy(program_class, *copy);
  else
    timed.seconds = kernels_.copy_seconds(timed.bytes);
  return timed;
}

bool InstructionTimes::crosses_spaces(const ProgramClass& program_class,
                                      const CopyInstruction& copy) {
  return program_class.buffers[static_cast<size_t>(copy.input)].space !=
         program_class.buffers[static_cast<size_t>(copy.output)].space;
}

TimedInstruction InstructionTimes::timed_host_copy(const ProgramClass& program_class,
                                                   const CopyInstruction& copy) {
  const auto buffer = [&](int index) { return program_class.buffers[static_cast<size_t>(index)]; };
  const int64_t bytes = buffer(copy.input).type.bytes();
  const bool to_host = buffer(copy.output).space == MemorySpace::Host;
  return {.kind = TimedInstruction::Kind::Collective,
          .seconds = static_cast<double>(bytes) / cluster_.host->one_way(program_.mesh.num_ranks()),
          .async = copy.async,
          .level = cluster_.levels.size() + (to_host ? 1 : 0),
          .bytes = bytes};
}

// As slow as the slowest of the mesh's groups: in the end the step waits for it.
TimedInstruction InstructionTimes::timed_transfer(const ProgramClass& program_class,
                                                  const Instruction& instruction) {
  const auto* collective = instruction.as<CollectiveInstruction>();
  const AxisIds axes =
      collective ? program_.group_of(*collective).axes : AxisIds{program_.pipeline_axis};
  // From one stage to the next is one hop of a ring.
  const CollectiveOp op = collective ? collective->op : CollectiveOp::Shift;
  const auto [found, fresh] = shapes_.try_emplace(axes);
  if (fresh) found->second = group_shapes(cluster_, program_.mesh, axes);
  // Of rows of experts, what the fullest rank has.
  const bool rows = collective && moves_rows(op);
  const auto bytes = [&](std::span<const int> buffers) {
    return rows ? bytes_of(mean_types_of(program_class, buffers.first(1), load_of(program_class)))
                : bytes_of(program_class, buffers);
  };
  const int64_t largest_bytes = std::max(bytes(reads(instruction)), bytes(writes(instruction)));
  TimedInstruction timed{
      .kind = TimedInstruction::Kind::Collective,
      .async = is_started(instruction),
      .crosses = crosses_stages(instruction, program_),
      .needs_counts = op == CollectiveOp::PutRows && instruction.phase == Phase::Forward,
      .bytes = given_bytes(program_class, instruction)};
  const ExpertShare share = rows ? expert_share_of(program_class) : ExpertShare{};
  const RowTraffic traffic{.copies = copies_, .experts = share.experts, .top_k = share.top_k};
  for (const GroupShape& shape : found->second) {
    const auto all = static_cast<double>(largest_bytes);
    timed.seconds = std::max(timed.seconds, rows ? row_seconds(cluster_, op, shape, all, traffic)
                                                 : collective_seconds(cluster_, op, shape, all));
    timed.level = std::max(timed.level, shape.size() - 1);
  }
  return timed;
}

// Each phase's cost, spread evenly over its kernels of one microbatch.
void InstructionTimes::use_unit_cost(const Script& script, const UnitCost& cost) {
  for (int c = 0; c < static_cast<int>(times_.size()); ++c)
    for (int r = 0; r < kNumRoutineKinds; ++r) of(c, static_cast<RoutineKind>(r));
  const auto for_each_kernel = [&](auto&& visit) {
    for (size_t c = 0; c < times_.size(); ++c)
      for (const RoutineKind routine : {RoutineKind::Forward, RoutineKind::Backward,
                                        RoutineKind::InputGrad, RoutineKind::WeightGrad})
        for (size_t i = 0; i < program_.classes[c].routine(routine).size(); ++i) {
          TimedInstruction& timed = times_[c][static_cast<size_t>(routine)][i];
          if (timed.kind == TimedInstruction::Kind::Kernel)
            visit(c, routine, program_.classes[c].routine(routine)[i].phase, timed);
        }
  };
  std::map<std::pair<size_t, RoutineKind>, int> calls;  // of one microbatch
  for (const ScriptCall& call : script.calls)
    if (call.microbatch == 0)
      ++calls[{static_cast<size_t>(program_.blocks[static_cast<size_t>(call.block)].class_index),
               call.routine}];
  std::map<Phase, double> kernels;
  for_each_kernel([&](size_t c, RoutineKind routine, Phase phase, const TimedInstruction&) {
    kernels[phase] += calls[{c, routine}];
  });
  for (auto& routines : times_)
    for (auto& routine : routines)
      for (TimedInstruction& timed : routine) timed.seconds = 0;
  for_each_kernel([&](size_t, RoutineKind, Phase phase, TimedInstruction& timed) {
    const double whole = phase == Phase::Forward      ? cost.forward
                         : phase == Phase::InputGrad  ? cost.input_grad
                         : phase == Phase::WeightGrad ? cost.weight_grad
                                                      : 0;
    if (kernels[phase] > 0) timed.seconds = whole / kernels[phase];
  });
}

RoutineSeconds routine_seconds(const Program& program, const Cluster& cluster, int block,
                               RoutineKind routine) {
  const ProgramBlock& own = program.blocks[static_cast<size_t>(block)];
  if (program.class_of(own).routine(routine).empty()) return {};
  const ScriptCall call{.routine = routine, .block = block, .accumulate = {}};
  const Script script{.name = "alone", .calls = {call}};
  RankWalk walk(program, script, cluster, {});
  Crossings crossings;
  walk.advance(crossings, 1);
  TESSERA_CHECK(walk.finished(), "{} waits for another stage", name(routine));
  return {.alone = walk.now(), .left_under_way = walk.seconds_under_way()};
}

}  // namespace tessera
