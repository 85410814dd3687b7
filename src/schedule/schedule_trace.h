// SPDX-License-Identifier: Apache-2.0
// Schedules in the trace event format (docs/trace.md): a process per rank, a slice per action,
// arrows between stages, a counter of activations held. A unit of time is a millisecond.
#pragma once

#include <span>
#include <string>

#include "schedule/schedule_timing.h"

namespace tessera {

std::string to_trace(std::span<const TimedSchedule> schedules);

}  // namespace tessera
