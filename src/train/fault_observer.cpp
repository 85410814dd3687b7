// SPDX-License-Identifier: Apache-2.0
#include "train/fault_observer.h"

#include <cerrno>
#include <optional>

namespace tessera {
namespace {

std::optional<FaultPhase> phase_of(const InstructionEvent& event) {
  if (communicates(event.instruction)) return FaultPhase::Collective;
  if (event.call.routine == RoutineKind::Forward) return FaultPhase::Forward;
  if (side(event.call.routine) == StepSide::Backward) return FaultPhase::Backward;
  if (event.call.routine == RoutineKind::Update) return FaultPhase::Update;
  return std::nullopt;
}

}  // namespace

RankFault faults_in_steps(FaultPlan& faults, const int64_t& steps) {
  return [&faults, &steps](int rank, const InstructionEvent& event) {
    const auto phase = phase_of(event);
    return phase && faults.at(*phase, rank, steps + 1) == EDOM;
  };
}

void inject_faults(FaultPlan* faults, FaultPhase phase, Executor& executor, int64_t step) {
  if (!faults) return;
  for (const RankStates* rank : executor.rank_states()) faults->at(phase, rank->rank(), step);
}

}  // namespace tessera
