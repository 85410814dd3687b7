// SPDX-License-Identifier: Apache-2.0
// When work runs within a step, as one table. A phase is when a node of the IR runs, a routine is
// what a script calls: the nodes of a block class that run together. Both are in the order of the
// step: a later phase may read what an earlier one wrote, never the other way round.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class Phase : uint8_t {
  WeightsIn,
  Gather,
  GatherWait,
  Prepare,
  Begin,
  CountReduce,
  Forward,
  Evaluate,
  ActivationsOut,
  ActivationsOutDone,
  ActivationsIn,
  ActivationsInDone,
  Recompute,
  InputGrad,
  WeightGrad,
  GradientsIn,
  GradientsInDone,
  Reduce,
  ReduceWait,
  ReduceTied,
  GradientsOut,
  GradientsOutDone,
  MetricReduce,
  Norm,
  NormReduce,
  StatesIn,
  StatesInDone,
  Update,
  StatesOut,
  StatesOutDone
};

enum class RoutineKind : uint8_t {
  WeightsIn,
  Gather,
  GatherWait,
  Prepare,
  Begin,
  CountReduce,
  Forward,
  Evaluate,
  ActivationsOut,
  ActivationsOutDone,
  ActivationsIn,
  ActivationsInDone,
  Recompute,
  Backward,
  InputGrad,
  WeightGrad,
  GradientsIn,
  GradientsInDone,
  Reduce,
  ReduceWait,
  ReduceTied,
  GradientsOut,
  GradientsOutDone,
  MetricReduce,
  Norm,
  NormReduce,
  StatesIn,
  StatesInDone,
  Update,
  StatesOut,
  StatesOutDone,
  StreamIn,
  StreamInDone,
  StreamOut,
  StreamOutDone,
  GradientIn,
  GradientInDone,
  GradientOut,
  GradientOutDone
};

// Whether it is part of a microbatch's forward or backward.
enum class StepSide : uint8_t { Neither, Forward, Backward };

struct RoutineRow {
  RoutineKind routine;
  std::string_view name;  // in IR text, scripts and traces
  StepSide side;
  std::string_view when;               // when it runs, and what it waits for
  std::optional<Phase> phase = {};     // that nodes carry; none: no node asks for this routine
  std::optional<RoutineKind> in = {};  // another routine, in which the nodes of this phase run
  std::optional<RoutineKind> in_split = {};  // the same, where the schedule splits the backward
};

inline constexpr auto kRoutines = std::to_array<RoutineRow>({
    {RoutineKind::WeightsIn, "weights_in", StepSide::Neither,
     "two calls before a block's parameters are used: starts to copy their shards from the host",
     Phase::WeightsIn},
    {RoutineKind::Gather, "gather", StepSide::Neither,
     "one call before a block's parameters are used: starts to gather their shards", Phase::Gather},
    {RoutineKind::GatherWait, "gather_wait", StepSide::Neither,
     "before the first use of gathered parameters: waits for the gather", Phase::GatherWait},
    {RoutineKind::Prepare, "prepare", StepSide::Neither,
     "once, before any forward: what all microbatches read of a block's parameters alone",
     Phase::Prepare},
    {RoutineKind::Begin, "begin", StepSide::Neither,
     "for each microbatch, before any forward: counts labels", Phase::Begin},
    {RoutineKind::CountReduce, "count_reduce", StepSide::Neither,
     "once, after begin of the last microbatch: sums the counts over ranks", Phase::CountReduce},
    {RoutineKind::Forward, "forward", StepSide::Forward, "each microbatch's forward",
     Phase::Forward},
    {RoutineKind::Evaluate, "evaluate", StepSide::Forward,
     "a forward without a backward: forward, and results that the backward yields in a step",
     Phase::Evaluate},
    {RoutineKind::ActivationsOut, "activations_out", StepSide::Forward,
     "after a block's forward: starts to copy to the host what its backward reads",
     Phase::ActivationsOut},
    {RoutineKind::ActivationsOutDone, "activations_out_done", StepSide::Forward,
     "after the next block's forward: waits for it, and leaves the device's bytes to others",
     Phase::ActivationsOutDone},
    {RoutineKind::ActivationsIn, "activations_in", StepSide::Backward,
     "one block before a block's backward: starts to copy back what went to the host",
     Phase::ActivationsIn},
    {RoutineKind::ActivationsInDone, "activations_in_done", StepSide::Backward,
     "before the block's backward: waits for it", Phase::ActivationsInDone},
    {RoutineKind::Recompute, "recompute", StepSide::Backward,
     "before or in the backward: the forward again, where its results were not kept",
     Phase::Recompute, RoutineKind::Backward, RoutineKind::InputGrad},
    {RoutineKind::Backward, "backward", StepSide::Backward,
     "each microbatch's backward, both gradients"},
    {RoutineKind::InputGrad, "input_grad", StepSide::Backward,
     "the gradients of a block's inputs; on their own where the schedule splits the backward",
     Phase::InputGrad, RoutineKind::Backward},
    {RoutineKind::WeightGrad, "weight_grad", StepSide::Backward,
     "the gradients of a block's parameters; on their own where the schedule splits the backward",
     Phase::WeightGrad, RoutineKind::Backward},
    {RoutineKind::GradientsIn, "gradients_in", StepSide::Neither,
     "one call before a block's gradients at rest are read or added to: starts to copy them from "
     "the host",
     Phase::GradientsIn},
    {RoutineKind::GradientsInDone, "gradients_in_done", StepSide::Neither,
     "before that call: waits for them", Phase::GradientsInDone},
    {RoutineKind::Reduce, "reduce", StepSide::Neither,
     "after a block's backward of the last microbatch, or of each (ZeRO 2 and 3): starts to sum "
     "gradients over ranks",
     Phase::Reduce},
    {RoutineKind::ReduceWait, "reduce_wait", StepSide::Neither,
     "after the last backward, or when the buffer is needed again: waits for the sum",
     Phase::ReduceWait},
    {RoutineKind::ReduceTied, "reduce_tied", StepSide::Neither,
     "after the last microbatch: sums gradients over the stages that hold the same parameter",
     Phase::ReduceTied},
    {RoutineKind::GradientsOut, "gradients_out", StepSide::Neither,
     "after the last call for now that adds to a block's gradients: starts to copy them to the "
     "host",
     Phase::GradientsOut},
    {RoutineKind::GradientsOutDone, "gradients_out_done", StepSide::Neither,
     "before another block's gradients take their bytes on the device: waits for it",
     Phase::GradientsOutDone},
    {RoutineKind::MetricReduce, "metric_reduce", StepSide::Neither,
     "after the last microbatch: sums over ranks what is reported, such as the loss",
     Phase::MetricReduce},
    {RoutineKind::Norm, "norm", StepSide::Neither,
     "after all gradients are summed: the sum of their squares", Phase::Norm},
    {RoutineKind::NormReduce, "norm_reduce", StepSide::Neither,
     "between norm and update: sums the squares over ranks", Phase::NormReduce},
    {RoutineKind::StatesIn, "states_in", StepSide::Neither,
     "one block before a block's update: starts to copy its states from the host", Phase::StatesIn},
    {RoutineKind::StatesInDone, "states_in_done", StepSide::Neither,
     "before its update: waits for them", Phase::StatesInDone},
    {RoutineKind::Update, "update", StepSide::Neither, "at the end of the step: the optimizer",
     Phase::Update},
    {RoutineKind::StatesOut, "states_out", StepSide::Neither,
     "after a block's update: starts to copy its states to the host", Phase::StatesOut},
    {RoutineKind::StatesOutDone, "states_out_done", StepSide::Neither,
     "before another block's states take their bytes on the device: waits for it",
     Phase::StatesOutDone},
    {RoutineKind::StreamIn, "stream_in", StepSide::Neither,
     "starts to receive a microbatch from the stage before"},
    {RoutineKind::StreamInDone, "stream_in_done", StepSide::Neither,
     "before its forward: waits for it"},
    {RoutineKind::StreamOut, "stream_out", StepSide::Neither,
     "after its forward: starts to send it to the next stage"},
    {RoutineKind::StreamOutDone, "stream_out_done", StepSide::Neither,
     "before its buffer is written again: waits for it"},
    {RoutineKind::GradientIn, "gradient_in", StepSide::Neither,
     "starts to receive a microbatch's gradient from the next stage"},
    {RoutineKind::GradientInDone, "gradient_in_done", StepSide::Neither,
     "before its backward: waits for it"},
    {RoutineKind::GradientOut, "gradient_out", StepSide::Neither,
     "after its backward: starts to send the gradient to the stage before"},
    {RoutineKind::GradientOutDone, "gradient_out_done", StepSide::Neither,
     "before its buffer is written again: waits for it"},
});
inline constexpr int kNumRoutineKinds = static_cast<int>(kRoutines.size());

constexpr const RoutineRow& row_of(RoutineKind routine) {
  return kRoutines[static_cast<size_t>(routine)];
}
constexpr const RoutineRow& row_of(Phase phase) {
  size_t row = 0;
  while (kRoutines[row].phase != phase) ++row;
  return kRoutines[row];
}
static_assert([] {
  for (int i = 0; i < kNumRoutineKinds; ++i)
    if (kRoutines[static_cast<size_t>(i)].routine != static_cast<RoutineKind>(i)) return false;
  return true;
}());

constexpr std::string_view name(RoutineKind routine) { return row_of(routine).name; }
constexpr std::string_view name(Phase phase) { return row_of(phase).name; }
constexpr StepSide side(RoutineKind routine) { return row_of(routine).side; }
constexpr StepSide side(Phase phase) { return row_of(phase).side; }

// The routine in which a phase's nodes run.
constexpr RoutineKind routine_of(Phase phase, bool split_backward) {
  const RoutineRow& row = row_of(phase);
  return (split_backward ? row.in_split : row.in).value_or(row.routine);
}

// What is rebuilt belongs to the backward, but is no gradient.
constexpr bool makes_gradients(Phase phase) {
  return phase == Phase::InputGrad || phase == Phase::WeightGrad;
}

constexpr std::optional<Phase> phase_from_name(std::string_view text) {
  for (const RoutineRow& row : kRoutines)
    if (row.phase && row.name == text) return row.phase;
  return std::nullopt;
}

}  // namespace tessera
