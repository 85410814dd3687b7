// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer_samples.h"

namespace tessera {

std::vector<OpSample> sgd_samples() { return optimizer_samples({.slots = {{}}}, 6); }

}  // namespace tessera
