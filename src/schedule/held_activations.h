// SPDX-License-Identifier: Apache-2.0
// How many microbatches' activations are held at once, at most: from the end of a forward to the
// end of the weight gradient. A rank's order decides it, whatever the costs.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace tessera {

// By stage: the slots that its activations need.
std::vector<int> most_held_by_stage(const Schedule& schedule);
// By rank, over all of its stages at once: stages times microbatches.
std::vector<int> most_held_by_rank(const Schedule& schedule);

}  // namespace tessera
