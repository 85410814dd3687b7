// SPDX-License-Identifier: Apache-2.0
#include "planner/stage_floor.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

StageFloor::Block times_of(const BlockFloor& floor) {
  const BlockProfile& block = *floor.block;
  const StateProfile& states = *floor.states;
  return {.forward = block.forward,
          .rebuild = block.rebuild,
          .input_grad = block.input_grad,
          .weight_grad = block.weight_grad,
          .gather = states.gather,
          .reduce = states.reduce,
          .travel = states.travel,
          .reduce_wait = states.reduce_wait,
          .comes_and_goes = states.comes_and_goes};
}

// Whole weights of a block and of the next one, gathered ahead; the whole gradient of one.
void add_windows(const Candidate& candidate, std::span<const BlockFloor> blocks,
                 StageFloor& floor) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto weights = [&](size_t at) {
      return candidate.zero >= 3 ? static_cast<double>(blocks[at].block->weight_bytes) : 0;
    };
    const double gathered = weights(i) + (i > 0 ? weights(i - 1) : 0);
    const double gradient =
        candidate.zero >= 2 ? static_cast<double>(blocks[i].block->gradient_bytes) : 0;
    floor.window_bytes =
        std::max(floor.window_bytes,
                 splits_backward(candidate) ? std::max(gathered, gradient) : gathered + gradient);
  }
}

void add_activations(const Candidate& candidate, std::span<const BlockFloor> blocks,
                     StageFloor& floor) {
  const bool rebuilds = candidate.recompute == RecomputeKind::Blocks;
  const size_t root = static_cast<size_t>(std::lround(std::sqrt(blocks.size())));
  const size_t every = candidate.every > 0 ? static_cast<size_t>(candidate.every) : root;
  const bool sends = candidate.pp() > 1;
  // Where the backward is split, the stream that entered may be done with before the weights'
  // gradients, and a single block that rebuilds all it can may keep nothing of its forward.
  const bool early = splits_backward(candidate);
  const bool late = early && candidate.recompute == RecomputeKind::Fit && blocks.size() == 1;
  double kept = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const BlockProfile& block = *blocks[i].block;
    const bool begins = rebuilds ? i % every == 0 : i == 0;
    const bool ends = i + 1 == blocks.size() || (rebuilds && (i + 1) % every == 0);
    if (begins) {
      kept = 0;
      if (!early) floor.held_bytes += static_cast<double>(block.stream_bytes);
    }
    kept += static_cast<double>(block.kept_bytes);
    if (ends && (rebuilds || sends)) kept -= static_cast<double>(block.returned_bytes);
    if (rebuilds) floor.rebuilt_bytes = std::max(floor.rebuilt_bytes, kept);
  }
  if (!rebuilds && !late) floor.held_bytes += kept;
}

}  // namespace

double rest_bytes(const Candidate& candidate, const BlockProfile& block) {
  const double shards = candidate.zero == 0 ? 1 : candidate.state_shards();
  const auto at_rest = [&](int64_t bytes, int least_zero) {
    return static_cast<double>(bytes) / (candidate.zero >= least_zero ? shards : 1);
  };
  const auto on_device = [&](OffloadedStates least, int64_t bytes, int least_zero) {
    return candidate.offload_states >= least ? 0 : at_rest(bytes, least_zero);
  };
  return on_device(OffloadedStates::Moments, block.moment_bytes, 1) +
         on_device(OffloadedStates::States, block.master_bytes, 1) +
         on_device(OffloadedStates::Parameters, block.weight_bytes, 3) +
         (candidate.offload_gradients ? 0 : at_rest(block.gradient_bytes, 2));
}

double host_bytes(const Candidate& candidate, const BlockProfile& block) {
  Candidate on_device = candidate;
  on_device.offload_states = OffloadedStates::None;
  on_device.offload_gradients = false;
  Candidate all_but_weights = candidate;
  all_but_weights.offload_states = std::min(candidate.offload_states, OffloadedStates::States);
  return rest_bytes(on_device, block) - rest_bytes(all_but_weights, block);
}

StageFloor floor_of_stage(const Candidate& candidate, std::span<const BlockFloor> blocks) {
  StageFloor floor{.splits = splits_backward(candidate)};
  double from_host = 0, to_host = 0;
  for (const BlockFloor& each : blocks) {
    floor.blocks.push_back(times_of(each));
    floor.comes_and_goes |= each.states->comes_and_goes;
    floor.update += each.states->update;
    from_host += each.states->from_host;
    to_host += each.states->to_host;
    floor.forward += each.block->forward;
    floor.input_grad += each.block->input_grad;
    floor.weight_grad += each.block->weight_grad;
    floor.rest_bytes += rest_bytes(candidate, *each.block);
  }
  floor.update = std::max({floor.update, from_host, to_host});
  // What is needed again within two blocks does not leave.
  for (size_t i = 0; i + 2 < blocks.size(); ++i) floor.away += blocks[i].block->away;
  add_windows(candidate, blocks, floor);
  add_activations(candidate, blocks, floor);
  return floor;
}

double least_bytes(const Schedule& schedule, std::span<const StageFloor> stages) {
  double most = 0;
  for (size_t rank = 0; rank < schedule.actions.size(); ++rank) {
    double rest = 0, window = 0, held = 0, most_held = 0;
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      if (schedule.rank_of_stage[stage] != static_cast<int>(rank)) continue;
      rest += stages[stage].rest_bytes;
      window = std::max(window, stages[stage].window_bytes);
    }
    for (const Action& action : schedule.actions[rank]) {
      const StageFloor& stage = stages[static_cast<size_t>(action.stage)];
      if (action.kind == ActionKind::Forward) held += stage.held_bytes;
      const double rebuilt = gives_input_grad(action.kind) ? stage.rebuilt_bytes : 0;
      most_held = std::max(most_held, held + rebuilt);
      if (frees_activations(action.kind)) held -= stage.held_bytes;
    }
    most = std::max(most, rest + window + most_held);
  }
  return most;
}

}  // namespace tessera
