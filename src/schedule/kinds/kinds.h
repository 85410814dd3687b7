// SPDX-License-Identifier: Apache-2.0
// One function per kind of schedule. make_schedule() checks that sizes are at least 1 and valid for
// the kind. All kinds support any number of microbatches.
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
// Removes microbatches from `microbatches` on. The rest keeps its order, so no deadlock arises.
void drop_microbatches(Schedule& schedule, int microbatches);

}  // namespace tessera
