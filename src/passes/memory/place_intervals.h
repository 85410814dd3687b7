// SPDX-License-Identifier: Apache-2.0
// Assigns offsets to buffers with lifetimes: two that overlap in time never overlap in space.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

struct Interval {
  int begin = 0, end = 0;  // both inclusive, in positions of a routine
  int64_t bytes = 0;
  int64_t offset = 0;  // the answer
};

// The lowest offset at which it overlaps none of these in time and space; they are sorted by
// offset.
int64_t first_fit(const std::vector<const Interval*>& placed, const Interval& interval);

// Largest first, each at the lowest offset that fits. Returns the bytes needed.
int64_t place_intervals(std::vector<Interval>& intervals);

}  // namespace tessera
