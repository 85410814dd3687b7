// SPDX-License-Identifier: Apache-2.0
// GPipe (Huang et al. 2019): all forwards, then all backwards. All microbatches are held at once.
#include "schedule/kinds/kinds.h"

namespace tessera {

Schedule gpipe(int ranks, int chunks, int microbatches) {
  Schedule schedule = looped_bfs(ranks, chunks, microbatches);
  schedule.kind = "gpipe";
  return schedule;
}

}  // namespace tessera
