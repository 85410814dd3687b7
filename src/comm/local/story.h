// SPDX-License-Identifier: Apache-2.0
// What the ranks of a hub were doing when one failed, read from shared memory alone, so a rank that
// is stopped or dead has its part in it.
#pragma once

#include <vector>

#include "comm/local/local_hub.h"
#include "comm/rank_story.h"

namespace tessera {

// By rank.
std::vector<RankStory> stories_of(const LocalHub& hub);

}  // namespace tessera
