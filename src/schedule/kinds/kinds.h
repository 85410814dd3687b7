// SPDX-License-Identifier: Apache-2.0
// One function per kind of schedule. Sizes are 1 or more and such as the kind can have:
// make_schedule() checks that. All take any number of microbatches.
#pragma once

#include "schedule/schedule.h"

namespace tessera {

Schedule gpipe(int ranks, int chunks, int microbatches);
Schedule one_f_one_b(int ranks, int chunks, int microbatches);
Schedule interleaved_1f1b(int ranks, int chunks, int microbatches);
Schedule looped_bfs(int ranks, int chunks, int microbatches);
Schedule zb_h1(int ranks, int chunks, int microbatches);
Schedule zb_h2(int ranks, int chunks, int microbatches);
Schedule zb_v(int ranks, int chunks, int microbatches);

// A table without actions; stage s is on rank s % ranks.
Schedule empty_schedule(const char* kind, int ranks, int chunks, int microbatches);
// Leaves out microbatches from `microbatches` on. What is left keeps its order, so a table without
// deadlock stays one.
void drop_microbatches(Schedule& schedule, int microbatches);

}  // namespace tessera
