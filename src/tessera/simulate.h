// SPDX-License-Identifier: Apache-2.0
// How long a step takes on a cluster, and what memory it needs, without running it.
#pragma once

#include "sim/cluster.h"
#include "studio/run_on_cluster.h"
#include "studio/simulated_step.h"
