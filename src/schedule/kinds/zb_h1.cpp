// SPDX-License-Identifier: Apache-2.0
// ZB-H1 (Qi et al. 2023): as many warm-up forwards as 1F1B; weight gradients fill the gaps at its
// end.
#include "schedule/kinds/kinds.h"
#include "schedule/kinds/late_weight_grads.h"

namespace tessera {

Schedule zb_h1(int ranks, int /*chunks*/, int microbatches) {
  return late_weight_grads("zb_h1", ranks, microbatches, 1);
}

}  // namespace tessera
