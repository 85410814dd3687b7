// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/router_loss_samples.h"

namespace tessera {

std::vector<OpSample> router_z_loss_samples() { return router_z_loss_cases(3); }

}  // namespace tessera
