// SPDX-License-Identifier: Apache-2.0
#include "planner/stage_floor.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Where gradients rest in parts they are reduced for every microbatch. Where the backward is split
// it may be fewer times.
bool reduces_always(const Candidate& candidate) {
  return candidate.zero >= 2 && !splits_backward(candidate);
}

// Gradients that rest whole are waited for when all is done. Those that come and go leave their
// bytes to the block after the next, which waits: the sum travels beside the backward of the next
// alone, which is the one before it in the chain.
void add_states(const Candidate& candidate, std::span<const BlockFloor> blocks, StageFloor& floor) {
  double largest_gather = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const StateProfile& states = *blocks[i].states;
    if (candidate.zero >= 2 && i > 1) {
      floor.reduction += states.reduce_wait;
      const BlockProfile& beside = *blocks[i - 1].block;
      const double hidden = splits_backward(candidate) ? beside.weight_grad : beside.input_grad;
      floor.reduction += std::max(0.0, states.travel - hidden);
    }
    floor.travel += states.travel;
    floor.gather += states.gather;
    largest_gather = std::max(largest_gather, states.gather);
    floor.update += states.update;
  }
  floor.gather -= largest_gather;
  if (!blocks.empty()) floor.last_travel = blocks.front().states->travel;
  floor.adds_up = blocks.size() == 1;
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

// When a rank has done all of its actions and its links all of their traffic.
struct RankFloor {
  double end = 0, traffic = 0, sums_end = 0;
  Action last = {.kind = ActionKind::WeightGrad, .stage = -1};
};

class Timing {
 public:
  Timing(const Candidate& candidate, const Schedule& schedule, std::span<const StageFloor> stages)
      : candidate_(candidate),
        schedule_(schedule),
        stages_(stages),
        ranks_(schedule.actions.size()),
        backwards_(stages.size()),
        activations_(entry(schedule, schedule.num_stages(), 0)),
        gradients_(activations_.size()) {
    for (int s = 0; s < schedule.num_stages(); ++s) {
      RankFloor& rank = ranks_[static_cast<size_t>(rank_of(s))];
      rank.traffic = rank.end += stage(s).update;
    }
  }

  void run(const ActionPlace& place) {
    const auto at = static_cast<size_t>(place.rank);
    const Action& action = schedule_.actions[at][place.position];
    RankFloor& rank = ranks_[at];
    const bool forward = action.kind == ActionKind::Forward;
    if (const auto other = awaited_stage(schedule_, action)) {
      const bool local = rank_of(*other) == place.rank;
      const double hop = local ? 0 : stage(std::max(*other, action.stage)).hop;
      const auto& there = forward ? activations_ : gradients_;
      rank.end = std::max(rank.end, there[entry(schedule_, *other, action.microbatch)] + hop);
    }
    rank.end += seconds(action, rank);
    if (reduces(action))
      rank.sums_end = std::max(rank.sums_end, rank.end + stage(action.stage).last_travel);
    const size_t result = entry(schedule_, action.stage, action.microbatch);
    if (forward) activations_[result] = rank.end;
    if (gives_input_grad(action.kind)) gradients_[result] = rank.end;
    rank.last = action;
  }

  // From one norm, which joins all ranks, to the next: each rank begins when its update has ended.
  double step_seconds() const {
    double end = 0;
    for (const RankFloor& rank : ranks_)
      end = std::max({end, rank.end, rank.traffic, rank.sums_end});
    return end;
  }

 private:
  const StageFloor& stage(int number) const { return stages_[static_cast<size_t>(number)]; }
  int rank_of(int number) const { return schedule_.rank_of_stage[static_cast<size_t>(number)]; }

  // Weights are gathered once for a run of microbatches.
  double seconds(const Action& action, RankFloor& rank) {
    const StageFloor& own = stage(action.stage);
    const bool weights = action.kind != ActionKind::WeightGrad;
    if (weights && (action.kind != rank.last.kind || action.stage != rank.last.stage))
      rank.traffic += own.gather;
    double seconds = action.kind == ActionKind::Forward      ? own.forward
                     : action.kind == ActionKind::InputGrad  ? own.input_grad
                     : action.kind == ActionKind::WeightGrad ? own.weight_grad
                                                             : own.input_grad + own.weight_grad;
    if (frees_activations(action.kind)) ++backwards_[static_cast<size_t>(action.stage)];
    if (!reduces(action)) return seconds;
    rank.traffic += own.travel;
    return seconds + own.reduction;
  }

  bool reduces(const Action& action) const {
    return frees_activations(action.kind) &&
           ((reduces_always(candidate_) && !stage(action.stage).adds_up) ||
            backwards_[static_cast<size_t>(action.stage)] == schedule_.microbatches);
  }

  const Candidate& candidate_;
  const Schedule& schedule_;
  std::span<const StageFloor> stages_;
  std::vector<RankFloor> ranks_;
  std::vector<int> backwards_;                   // so far, by stage
  std::vector<double> activations_, gradients_;  // when they are there, by stage and microbatch
};

}  // namespace

double rest_bytes(const Candidate& candidate, const BlockProfile& block) {
  const double shards = candidate.zero == 0 ? 1 : candidate.axes.state_shards();
  const auto at_rest = [&](int64_t bytes, int least_zero) {
    return static_cast<double>(bytes) / (candidate.zero >= least_zero ? shards : 1);
  };
  return at_rest(block.optimizer_bytes, 1) + at_rest(block.gradient_bytes, 2) +
         at_rest(block.weight_bytes, 3);
}

StageFloor floor_of_stage(const Candidate& candidate, std::span<const BlockFloor> blocks) {
  StageFloor floor;
  for (const BlockFloor& each : blocks) {
    floor.forward += each.block->forward;
    floor.input_grad += each.block->input_grad;
    floor.weight_grad += each.block->weight_grad;
    floor.rest_bytes += rest_bytes(candidate, *each.block);
  }
  add_states(candidate, blocks, floor);
  add_windows(candidate, blocks, floor);
  add_activations(candidate, blocks, floor);
  return floor;
}

double least_seconds(const Candidate& candidate, const ScheduleTable& table,
                     std::span<const StageFloor> stages) {
  Timing timing(candidate, table.schedule, stages);
  for (const ActionPlace& place : table.order) timing.run(place);
  return timing.step_seconds();
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
