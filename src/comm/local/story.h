// SPDX-License-Identifier: Apache-2.0
// What the ranks of a hub were doing when one failed: who waits for whom, where, and since when.
// Read from shared memory alone, so a rank that is stopped or dead has its part in it.
#pragma once

#include <string>

#include "comm/local/local_hub.h"

namespace tessera {

// Along who waits for whom, from `silent`: the first rank that waits for nobody, or that could go
// on and does not; `asking` is none of them.
int first_to_blame(const LocalHub& hub, int silent, int asking);
// "stopped (process 123), at step 7, behind all_reduce #12 grad(w1)"
std::string doing(const LocalHub& hub, int rank);
// Several lines, a part for each rank.
std::string tell_story(const LocalHub& hub);

}  // namespace tessera
