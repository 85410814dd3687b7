// SPDX-License-Identifier: Apache-2.0
// The axis island of a config: an island is a job of its own, so that the axis is taken off the
// mesh before anything is compiled.
#pragma once

#include "config/config.h"

namespace tessera {

// 0: the mesh has no such axis.
int islands_of(const Config& config);
// What one island trains: the mesh without the axis, and its share of the batch. Without the axis
// the config itself.
Config one_island(Config config);

// A UserError where [islands] does not fit the mesh and the batch.
void check_islands(const Config& config);

}  // namespace tessera
