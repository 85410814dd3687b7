// SPDX-License-Identifier: Apache-2.0
// How close routers are to a tie: the least difference between an expert that is chosen and one
// that is not, relative to the largest score. Where it is within rounding, another order of sums
// may choose another expert, and no comparison of what follows means anything.
#pragma once

#include <limits>
#include <string>

#include "exec/rank_executor.h"

namespace tessera {

struct RouterMargin {
  double gap = std::numeric_limits<double>::infinity();  // infinity: no router chooses
  std::string place;                                     // "layer.3, token 17 of step 2"

  bool known() const { return !place.empty(); }
};

// Looks at an instruction that has run: a router that is closer to a tie becomes the margin.
void note_margin(const InstructionEvent& event, int step, RouterMargin& margin);

}  // namespace tessera
