// SPDX-License-Identifier: Apache-2.0
// The time and memory of one block of each class, from the compiler and the simulator themselves: a
// model of a few layers is compiled, and every routine is simulated on its own. The compute part
// does not depend on replicas, zero, stages and the number of microbatches, the part of the states
// not on recomputation: candidates share profiles.
#pragma once

#include <map>
#include <string>

#include "planner/candidate.h"

namespace tessera {

// Of one microbatch.
struct BlockProfile {
  // Seconds. Recomputation counts as input gradient, and so does the whole backward where the
  // schedule does not split it.
  double forward = 0, input_grad = 0, weight_grad = 0;
  double rebuild = 0;  // of input_grad: what blocks recompute before their backward
  // From forward to backward, the stream that it returns among them; of the stream that it takes;
  // of the one that it returns.
  int64_t kept_bytes = 0, stream_bytes = 0, returned_bytes = 0;
  int64_t weight_bytes = 0, gradient_bytes = 0;  // whole, before zero
  int64_t moment_bytes = 0, master_bytes = 0;    // of the optimizer: with averages
  double away = 0;  // seconds on the link to the host, one way, of what leaves until the backward

  double seconds() const { return forward + input_grad + weight_grad; }
};

// Seconds of the work on a block's states. Reductions of gradients overlap with later backwards and
// are then waited for; updated weights are gathered where every rank keeps them whole.
struct StateProfile {
  double reduce = 0, travel = 0, reduce_wait = 0;  // at every reduction
  bool comes_and_goes = false;                     // reductions are for each microbatch
  double gather = 0;                               // where weights are sharded: before every use
  double update = 0;                               // at the end
  double from_host = 0, to_host = 0;               // of states that rest there, for the update
};

template <typename Profile>
using ByClass = std::map<std::string, Profile>;  // by the class's name

struct ShapeProfile {
  ByClass<BlockProfile> blocks;
  int64_t scratch_bytes = 0;  // of forward and backward
  int rebuilt_values = 0;     // of all classes
};

// The candidate that represents all those with the same profile; it has as few layers as it needs.
Candidate shape_of(const PlanTask& task, const Candidate& candidate);
Candidate states_of(const PlanTask& task, const Candidate& candidate);

// `values`: how many the candidate recomputes, where it recomputes values to fit.
ShapeProfile profile_shape(const PlanTask& task, const Candidate& shape, int values);
ByClass<StateProfile> profile_states(const PlanTask& task, const Candidate& states);

bool splits_backward(const Candidate& candidate);

}  // namespace tessera
