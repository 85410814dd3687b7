// SPDX-License-Identifier: Apache-2.0
#include "inference/finite_numbers.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {

void require_finite(std::span<const double> numbers) {
  const auto wrong = std::ranges::find_if(numbers, [](double x) { return !std::isfinite(x); });
  if (wrong == numbers.end()) return;
  throw user_error("the model computes {} where a number is needed",
                   std::isnan(*wrong) ? "NaN" : "infinity")
      .help("its training diverged, or its weights are damaged: use an earlier checkpoint");
}

}  // namespace tessera
