// SPDX-License-Identifier: Apache-2.0
#include "passes/memory/place_intervals.h"

#include <algorithm>
#include <numeric>

#include "ir/memory.h"

namespace tessera {

int64_t first_fit(const std::vector<const Interval*>& placed, const Interval& interval) {
  const int64_t bytes = align_up(interval.bytes);
  int64_t offset = 0;
  for (const Interval* other : placed) {
    if (other->end < interval.begin || interval.end < other->begin) continue;
    if (other->offset - offset >= bytes) break;
    offset = std::max(offset, other->offset + align_up(other->bytes));
  }
  return offset;
}

int64_t place_intervals(std::vector<Interval>& intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });

  std::vector<const Interval*> placed;  // sorted by offset
  int64_t total = 0;
  for (const size_t i : order) {
    Interval& interval = intervals[i];
    interval.offset = first_fit(placed, interval);
    total = std::max(total, interval.offset + align_up(interval.bytes));
    placed.insert(std::upper_bound(
                      placed.begin(), placed.end(), &interval,
                      [](const Interval* a, const Interval* b) { return a->offset < b->offset; }),
                  &interval);
  }
  return total;
}

}  // namespace tessera
