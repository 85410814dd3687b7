// SPDX-License-Identifier: Apache-2.0
// The validator of schedules, whoever made them.
#pragma once

#include "schedule/schedule.h"

namespace tessera {

// A UserError unless: every stage runs every microbatch forward once and backward once, whole or
// split; on the rank that holds the stage; forward before backward, input before weight gradient;
// neighbouring stages take microbatches in one order, so that messages arrive as they were sent;
// and nobody waits for ever.
void check_schedule(const Schedule& schedule);

}  // namespace tessera
