// SPDX-License-Identifier: Apache-2.0
// What every rank holds of a tensor: a box of it while it is in use and, at rest, a stretch of that
// box where states are sharded. Ranks that hold the same share an entry.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/held_box.h"
#include "program/program.h"

namespace tessera {

inline constexpr int kHoldsNothing = -1;

struct HeldBoxes {
  std::vector<HeldBox> boxes;
  std::vector<int>
      of_rank;  // kHoldsNothing: the tensor is on another stage or, at rest, on other ranks
};

// Elements of the rank's own part of the tensor, in order.
struct HeldStretch {
  int box = 0;
  int64_t begin = 0, end = 0;
  auto operator<=>(const HeldStretch&) const = default;
};

struct HeldStretches {
  std::vector<HeldStretch> stretches;
  std::vector<int> of_rank;
};

HeldBoxes boxes_in_use(std::span<const Program> programs, const StateBuffer& state);
// `gradient`: of its gradient, else of the state itself.
HeldStretches stretches_at_rest(std::span<const Program> programs, const StateBuffer& state,
                                const HeldBoxes& boxes, bool gradient);

}  // namespace tessera
