// SPDX-License-Identifier: Apache-2.0
// What a stage does and keeps on its rank, as lower bounds: the times of its blocks (step_replay.h
// makes a step of them) and, by the schedule's table, the memory of the fullest rank.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "planner/block_profile.h"
#include "schedule/action_order.h"

namespace tessera {

// One block of a chain, as candidates share it.
struct BlockFloor {
  const BlockProfile* block;
  const StateProfile* states;
};

struct StageFloor {
  // Seconds of a block; of its recomputation, which counts as input gradient; of its weights'
  // gather where they rest in shards; of its gradients' sum: before it travels, on its way, after
  // that.
  struct Block {
    double forward = 0, rebuild = 0, input_grad = 0, weight_grad = 0;
    double gather = 0, reduce = 0, travel = 0, reduce_wait = 0;
    bool comes_and_goes = false;  // its gradients are summed for each microbatch
  };
  struct Hop {
    double seconds = 0;
    size_t level = 0;  // whose links it takes
  };
  std::vector<Block> blocks = {};
  double forward = 0, input_grad = 0, weight_grad = 0;  // of all, for one microbatch
  bool splits = false;                                  // the backward
  bool comes_and_goes = false;                          // of any block
  double update = 0;
  double away = 0;           // of a microbatch, on the link to the host, each way
  Hop hop = {};              // from the stage before, or back to it
  double rest_bytes = 0;     // always in use
  double window_bytes = 0;   // of buffers that come and go
  double held_bytes = 0;     // of a microbatch, from forward to backward
  double rebuilt_bytes = 0;  // besides, in the backward

  bool gathers() const {
    return std::any_of(blocks.begin(), blocks.end(),
                       [](const Block& block) { return block.gather > 0; });
  }
};

// Of a block's states, as they are stored.
double rest_bytes(const Candidate& candidate, const BlockProfile& block);
// Of these, what rests on the host and is updated.
double host_bytes(const Candidate& candidate, const BlockProfile& block);
StageFloor floor_of_stage(const Candidate& candidate, std::span<const BlockFloor> blocks);

// Of the fullest rank.
double least_bytes(const Schedule& schedule, std::span<const StageFloor> stages);

}  // namespace tessera
