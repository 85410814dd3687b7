// SPDX-License-Identifier: Apache-2.0
// offload_gradients: lets gradients rest in the host's memory from one call that adds to them, or
// reads them, to the next. The device works on the buffers that it has without offloading.
#pragma once

#include "mesh/plan.h"
#include "passes/pass.h"

namespace tessera {

Pass offload_gradients(Plan plan);

}  // namespace tessera
