// SPDX-License-Identifier: Apache-2.0
#include "train/fault_observer.h"

#include <cerrno>
#include <cstring>
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

// All bits set are a NaN in every float dtype.
void put_nan(const InstructionEvent& event) {
  for (const TensorRef& operand : event.bound.operands) {
    if (!operand.type || operand.type->dtype == DType::Int32) continue;
    std::memset(operand.data, 0xff, static_cast<size_t>(size_bytes(operand.type->dtype)));
    return;
  }
}

}  // namespace

RankObserver with_faults(RankObserver next, FaultPlan& faults, const int64_t& steps) {
  return [next = std::move(next), &faults, &steps](int rank, const InstructionEvent& event) {
    const auto phase = phase_of(event);
    if (phase && !event.finished && faults.at(*phase, rank, steps + 1) == EDOM) put_nan(event);
    if (next) next(rank, event);
  };
}

void inject_faults(FaultPlan* faults, FaultPhase phase, Executor& executor, int64_t step) {
  if (!faults) return;
  for (const RankStates* rank : executor.rank_states()) faults->at(phase, rank->rank(), step);
}

}  // namespace tessera
