// SPDX-License-Identifier: Apache-2.0
// What `tessera verify` runs and says.
#pragma once

#include <string>

#include "files/json.h"
#include "verify/verify_islands.h"
#include "verify/verify_plan.h"

namespace tessera {

// Verified is the maths, in a precision of its own; the plan's memory is for the one that it trains
// in.
RunSpec spec_to_verify(const Config& config, DType precision, bool shrink);

Json to_json(const VerifyReport& report);
Json to_json(const VerifyIslandsReport& report);
std::string verdict_of(const VerifyReport& report);  // "equal", "NOT equal" or "undecided: ..."

}  // namespace tessera
