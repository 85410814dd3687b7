// SPDX-License-Identifier: Apache-2.0
// The built-in schedules: each is a pure function from sizes to a table, in its own file under
// kinds/.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "schedule/schedule.h"

namespace tessera {

// Which numbers of microbatches leave no gaps but those of the kind: any; multiples of the ranks;
// 2 * ranks - 1 and above. Other numbers run too.
enum class MicrobatchRule : uint8_t { Any, MultipleOfRanks, TwiceTheRanks };

struct ScheduleKind {
  std::string_view name;
  int least_chunks, most_chunks;  // per rank; most 0: any number
  bool splits_backward;           // input and weight gradients are actions of their own
  bool planned;                   // tried by the planner where the user fixes none
  MicrobatchRule microbatches;    // which the planner tries it with
  std::string_view summary;
  Schedule (*make)(int ranks, int chunks, int microbatches);

  bool takes_chunks(int chunks) const {
    return chunks >= least_chunks && (most_chunks == 0 || chunks <= most_chunks);
  }
};

std::span<const ScheduleKind> schedule_kinds();

// A UserError for an unknown kind or for invalid sizes.
const ScheduleKind& schedule_kind(std::string_view name);
Schedule make_schedule(std::string_view kind, int ranks, int chunks, int microbatches);

}  // namespace tessera
