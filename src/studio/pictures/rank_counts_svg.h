// SPDX-License-Identifier: Apache-2.0
// The picture of a comparison of numbers of ranks.
#pragma once

#include <string>
#include <vector>

#include "studio/whole_run_plan.h"

namespace tessera {

// Rows ascend by ranks, and at least one has a run.
std::string rank_counts_svg(const std::vector<RankCount>& counts, const std::string& title);

}  // namespace tessera
