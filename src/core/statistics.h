// SPDX-License-Identifier: Apache-2.0
// Summaries of a list of numbers.
#pragma once

#include <vector>

namespace tessera {

// For an even number of values, the mean of the middle two; there must be at least one.
double median(std::vector<double> values);

}  // namespace tessera
