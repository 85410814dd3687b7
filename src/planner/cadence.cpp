// SPDX-License-Identifier: Apache-2.0
#include "planner/cadence.h"

#include <algorithm>
#include <cmath>

namespace tessera {

double young_seconds(const SaveCosts& costs) {
  return std::sqrt(2 * costs.stall_seconds * costs.seconds_between_failures);
}

double daly_seconds(const SaveCosts& costs) {
  const double mean = costs.seconds_between_failures;
  if (std::isinf(mean) || costs.stall_seconds >= 2 * mean) return mean;
  const double ratio = costs.stall_seconds / (2 * mean);
  return young_seconds(costs) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - costs.stall_seconds;
}

Cadence best_cadence(const SaveCosts& costs) {
  const double seconds =
      std::max({young_seconds(costs), costs.written_seconds, costs.step_seconds});
  const auto steps = std::max<int64_t>(1, std::llround(seconds / costs.step_seconds));
  const double interval = static_cast<double>(steps) * costs.step_seconds;
  return {.steps = steps,
          .lost_share =
              costs.stall_seconds / interval + interval / (2 * costs.seconds_between_failures)};
}

}  // namespace tessera
