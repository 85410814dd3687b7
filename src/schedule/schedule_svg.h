// SPDX-License-Identifier: Apache-2.0
// Schedules as one SVG picture, one below the other on a common scale of time. It has no background
// and is legible on light and dark pages.
#pragma once

#include <span>
#include <string>

#include "schedule/schedule_timing.h"

namespace tessera {

std::string draw_as_svg(std::span<const TimedSchedule> schedules);

}  // namespace tessera
