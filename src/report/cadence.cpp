// SPDX-License-Identifier: Apache-2.0
#include "report/cadence.h"

#include <algorithm>
#include <cmath>

namespace tessera {

Cadence best_cadence(const SaveCosts& costs) {
  const double best = std::sqrt(2 * costs.stall_seconds * costs.seconds_between_failures);
  const double seconds = std::max({best, costs.written_seconds, costs.step_seconds});
  const auto steps = std::max<int64_t>(1, std::llround(seconds / costs.step_seconds));
  const double interval = static_cast<double>(steps) * costs.step_seconds;
  return {.steps = steps,
          .lost_share =
              costs.stall_seconds / interval + interval / (2 * costs.seconds_between_failures)};
}

}  // namespace tessera
