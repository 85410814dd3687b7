// SPDX-License-Identifier: Apache-2.0
// The largest number of microbatches whose activations are held at once: from the end of a forward
// to the end of the weight gradient. It depends on a rank's order, not on costs.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace tessera {

// By stage: the slots that its activations need.
std::vector<int> most_held_by_stage(const Schedule& schedule);
// By rank, over all of its stages at once: stages times microbatches.
std::vector<int> most_held_by_rank(const Schedule& schedule);

}  // namespace tessera
