// SPDX-License-Identifier: Apache-2.0
// Schedules as CSV, in the format of PyTorch's pipelining: a line per rank, a cell per action, as
// in 0F0,0F1,0I0,0W0. Empty cells are ignored.
#pragma once

#include <string>
#include <string_view>

#include "schedule/schedule.h"

namespace tessera {

// Checks the schedule. A stage is on the rank whose line runs it. `place` names the text in errors.
Schedule parse_schedule_csv(std::string_view text, const std::string& place);
Schedule read_schedule_csv(const std::string& path);

std::string to_csv(const Schedule& schedule);

}  // namespace tessera
