// SPDX-License-Identifier: Apache-2.0
// ZB-H1 (Qi et al. 2023): as many forwards ahead as 1F1B; the gaps at its end are filled with
// weight gradients.
#include "schedule/kinds/kinds.h"
#include "schedule/kinds/late_weight_grads.h"

namespace tessera {

Schedule zb_h1(int ranks, int /*chunks*/, int microbatches) {
  return late_weight_grads("zb_h1", ranks, microbatches, 1);
}

}  // namespace tessera
