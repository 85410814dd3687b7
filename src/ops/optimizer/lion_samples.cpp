// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer_samples.h"

namespace tessera {
namespace {

double direction(int64_t i) { return i % 7 == 0 ? 0 : i % 3 == 0 ? -1 : 1; }

// Far enough from zero that no rounding turns the sign; some are zero.
double gradient(int64_t i, double u) { return direction(i) * (0.5 + u); }

// Along the gradient, or against it and so large that the gradient does not
// count.
double mean(int64_t i, double u) { return direction(i) * (i % 5 == 0 ? -20 - u : u); }

}  // namespace

std::vector<OpSample> lion_samples() {
  return optimizer_samples({.gradient = gradient, .slots = {mean}}, 11);
}

}  // namespace tessera
