// SPDX-License-Identifier: Apache-2.0
// A curve drawn in text, for the end of a run.
#pragma once

#include <span>
#include <string>

namespace tessera {

// `values` over their index: 64 columns (each the mean of its values) by 12 rows, the vertical axis
// labelled; empty for fewer than two values.
std::string text_plot(std::span<const double> values, int64_t first_index);

}  // namespace tessera
