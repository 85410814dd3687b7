// SPDX-License-Identifier: Apache-2.0
// ZB-H2 (Qi et al. 2023): twice as many warm-up forwards as 1F1B, so that no rank waits for its
// first gradient when forward, input and weight gradients cost the same.
#include "schedule/kinds/kinds.h"
#include "schedule/kinds/late_weight_grads.h"

namespace tessera {

Schedule zb_h2(int ranks, int /*chunks*/, int microbatches) {
  return late_weight_grads("zb_h2", ranks, microbatches, 2);
}

}  // namespace tessera
