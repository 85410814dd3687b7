// SPDX-License-Identifier: Apache-2.0
// failure.txt in a run's folder: why the run failed, and what each of its ranks was doing.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "comm/failure/rank_report.h"

namespace tessera {

// Says on stderr where it is, or why it is not: what failed before matters more.
void write_failure_file(const std::filesystem::path& run, std::string_view cause,
                        std::span<const RankReport> ranks);

}  // namespace tessera
