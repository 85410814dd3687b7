// SPDX-License-Identifier: Apache-2.0
// How long one routine of one block takes alone, on idle links: a lower bound for its time in a
// script.
#pragma once

#include "program/program.h"
#include "sim/cluster.h"

namespace tessera {

struct RoutineSeconds {
  double alone = 0;
  double left_under_way = 0;  // of collectives that it starts and another routine waits for
};

RoutineSeconds routine_seconds(const Program& program, const Cluster& cluster, int block,
                               RoutineKind routine);

}  // namespace tessera
