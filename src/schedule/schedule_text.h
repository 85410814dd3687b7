// SPDX-License-Identifier: Apache-2.0
// A schedule drawn in text: a line per rank, time to the right.
#pragma once

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

}  // namespace tessera
