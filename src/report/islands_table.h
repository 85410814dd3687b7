// SPDX-License-Identifier: Apache-2.0
// The exchanges between islands, as a report shows them: how many, their bytes, and how long
// islands waited for each other.
#pragma once

#include <string>

#include "files/json.h"
#include "report/report.h"

namespace tessera {

// Of a report that has islands.
std::string headline_of_islands(const Report& report);
DocumentTable islands_table(const Report& report);
Json islands_json(const Report& report);

}  // namespace tessera
