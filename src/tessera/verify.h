// SPDX-License-Identifier: Apache-2.0
// Whether a plan computes what one rank computes: losses, gradients and parameters after some
// steps.
#pragma once

#include "config/config.h"
#include "verify/verify_plan.h"

namespace tessera {

// The config's model and plan, in fp64, where rounding hides no mistake; its ranks are threads.
// Of islands, one.
VerifyReport verify(const Config& config, const VerifyOptions& options = {});

}  // namespace tessera
