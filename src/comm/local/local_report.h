// SPDX-License-Identifier: Apache-2.0
// Reports what the ranks of a hub were doing when one failed. It reads only shared memory, so that
// ranks that are stopped or dead are in it too.
#pragma once

#include <filesystem>
#include <vector>

#include "comm/failure/rank_report.h"
#include "comm/local/local_hub.h"

namespace tessera {

// By rank.
std::vector<RankReport> report_ranks(const LocalHub& hub);
// Into failure.txt of the run's folder; nothing before there is one, or where the user erred.
void write_failure_report(const LocalHub& hub, const std::filesystem::path& run);

}  // namespace tessera
