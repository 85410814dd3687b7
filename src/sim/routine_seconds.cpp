// SPDX-License-Identifier: Apache-2.0
#include "sim/routine_seconds.h"

#include "core/error.h"
#include "sim/rank_walk.h"

namespace tessera {

RoutineSeconds routine_seconds(const Program& program, const Cluster& cluster, int block,
                               RoutineKind routine) {
  const ProgramBlock& own = program.blocks[static_cast<size_t>(block)];
  if (program.class_of(own).routine(routine).empty()) return {};
  const ScriptCall call{.routine = routine, .block = block, .accumulate = {}};
  const Script script{.name = "alone", .calls = {call}};
  RankWalk walk(program, script, cluster, {});
  Crossings crossings;
  walk.advance(crossings, 1);
  TESSERA_CHECK(walk.finished(), "{} waits for another stage", name(routine));
  return {.alone = walk.now(), .left_under_way = walk.seconds_under_way()};
}

}  // namespace tessera
