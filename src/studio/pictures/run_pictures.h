// SPDX-License-Identifier: Apache-2.0
// Pictures of a run for its report: its own trace where it has one, and its config compiled and
// simulated for the rest.
#pragma once

#include <vector>

#include "record/run_record.h"
#include "report/document.h"

namespace tessera {

// Nothing where the config is missing or cannot be compiled here.
std::vector<DocumentPicture> pictures_of_run(const RunRecord& record);

}  // namespace tessera
