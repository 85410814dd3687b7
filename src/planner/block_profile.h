// SPDX-License-Identifier: Apache-2.0
// What a block of each class takes of a rank, from the compiler and the simulator themselves: a
// model of a few layers is compiled, and every routine is walked alone. What is computed does not
// depend on replicas, zero, stages and the number of microbatches, what happens to states not on
// recomputation: so many candidates share a profile.
#pragma once

#include <map>
#include <string>

#include "planner/candidate.h"

namespace tessera {

// Of one microbatch.
struct BlockProfile {
  // Seconds. What is rebuilt counts to the input's gradient, and so does the whole backward where
  // the schedule does not take it apart.
  double forward = 0, input_grad = 0, weight_grad = 0;
  // From forward to backward, the stream that it returns among them; of the stream that it takes;
  // of the one that it returns.
  int64_t kept_bytes = 0, stream_bytes = 0, returned_bytes = 0;
  int64_t weight_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0;  // whole, before zero

  double seconds() const { return forward + input_grad + weight_grad; }
};

// Seconds of what happens to a block's states. Sums of gradients travel beside the backwards that
// follow, are then waited for, and what is updated is gathered where weights rest whole.
struct StateProfile {
  double travel = 0, reduce_wait = 0;  // at every reduction
  double gather = 0;                   // where weights rest in parts: before every use
  double update = 0;                   // at the end
};

template <typename Profile>
using ByClass = std::map<std::string, Profile>;  // by the class's name

struct ShapeProfile {
  ByClass<BlockProfile> blocks;
  int64_t scratch_bytes = 0;  // of forward and backward
  int rebuilt_values = 0;     // of all classes
};

// The candidate that stands for all those with the same profile; it has as few layers as it needs.
Candidate shape_of(const PlanTask& task, const Candidate& candidate);
Candidate states_of(const PlanTask& task, const Candidate& candidate);

// Where the candidate rebuilds values to fit, it rebuilds so many.
ShapeProfile profile_shape(const PlanTask& task, const Candidate& shape, int values);
ByClass<StateProfile> profile_states(const PlanTask& task, const Candidate& states);

bool splits_backward(const Candidate& candidate);

}  // namespace tessera
