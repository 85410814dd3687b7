// SPDX-License-Identifier: Apache-2.0
// Schedules drawn: as text, as a picture, as a trace.
#pragma once

#include <span>
#include <string>

#include "schedule/schedule_timing.h"

namespace tessera {

struct TextDrawing {
  int columns = 100;    // of the whole line, at most
  bool colour = false;  // ANSI colours, for a terminal
};

// An action is a letter and its microbatch, or what of that fits; lower case on a rank's odd
// chunks. A dot is idle time.
std::string draw_as_text(const TimedSchedule& timed, const TextDrawing& drawing);

// Schedules as one SVG picture, one below the other on a common scale of time. It has no background
// and is legible on light and dark pages.
std::string draw_as_svg(std::span<const TimedSchedule> schedules);

// Schedules in the trace event format (docs/trace.md): a process per rank, a slice per action,
// arrows between stages, a counter of activations held. A unit of time is a millisecond.
std::string to_trace(std::span<const TimedSchedule> schedules);

}  // namespace tessera
