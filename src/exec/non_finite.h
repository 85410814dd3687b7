// SPDX-License-Identifier: Apache-2.0
// A value of a step that is not finite, and which instruction made it. To find the first, a step's
// script runs again without its updates, so that no state changes, and every value is looked at as
// soon as it is there. Plain bytes, so that the processes of a job can exchange them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "exec/bound_call.h"
#include "program/program.h"

namespace tessera {

struct NonFinite {
  int32_t found = 0;     // 0: every value was finite
  int32_t received = 0;  // it came from another rank, which had it before
  int32_t rank = 0;
  int32_t side = 0, microbatch = 0, stage = 0, block = 0, place = 0;  // when it was made
  std::array<char, 232> what{};  // "%h: swiglu of layer.3, forward, microbatch 2"
};

// Of those of all ranks, the one that was made first.
NonFinite first_of(std::span<const NonFinite> ranks);
// "%h: swiglu of layer.3, forward, microbatch 2, rank 1"; the rank where there are several.
std::string to_text(const NonFinite& value, int ranks);

// Whether result `index` of an instruction that has run is there to be looked at: of what is
// started, not before the wait for it. What is infinite by right is left out, such as the maximum
// of nothing: what is made of it is not finite where it is wrong.
bool may_look_at(const Instruction& instruction, const BoundCall& bound, size_t index);
// On the host.
bool is_finite(const TensorRef& value);
// Result `index` of the instruction is not finite.
NonFinite non_finite_at(const Program& program, int rank, const ScriptCall& call,
                        const Instruction& instruction, size_t index);
// A call that changes states: a search leaves it out.
inline bool changes_states(const ScriptCall& call) { return call.routine == RoutineKind::Update; }

}  // namespace tessera
