// SPDX-License-Identifier: Apache-2.0
// Validates schedules, built-in or from a file.
#pragma once

#include "schedule/schedule.h"

namespace tessera {

// A UserError unless: every stage runs every microbatch forward once and backward once, in full or
// split; on the rank that holds the stage; forward before backward, input before weight gradient;
// neighbouring stages process microbatches in the same order, so that messages arrive in the order
// sent; and there is no deadlock.
void check_schedule(const Schedule& schedule);

}  // namespace tessera
