// SPDX-License-Identifier: Apache-2.0
#include "ops/optimizer/optimizer_samples.h"

namespace tessera {

std::vector<OpSample> muon_samples() { return optimizer_samples({}, 4); }

}  // namespace tessera
