// SPDX-License-Identifier: Apache-2.0
// A timed pipeline schedule as `tessera schedule --json` prints it, with its actions for the page.
#pragma once

#include <vector>

#include "files/json.h"
#include "schedule/schedule_timing.h"

namespace tessera {

// `costs` as given: forward, input gradient, weight gradient. A UserError where they are no costs.
StageCosts stage_costs(const std::vector<double>& costs);
Json to_json(const TimedSchedule& timed, const std::vector<double>& costs);
// By rank, in order: [letter, stage, microbatch, begin, end].
Json actions_json(const TimedSchedule& timed);

// Two where there is a choice and none is given.
int default_chunks(std::string_view kind);

}  // namespace tessera
