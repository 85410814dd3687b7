// SPDX-License-Identifier: Apache-2.0
// What an optimizer of matrices takes in the gradient's place: of each matrix of a bundle the
// orthogonal one next to the direction of its momentum. A matrix is made whole first: gathered over
// the ranks that have its pieces, of which one makes it orthogonal, and each gets its piece back.
#pragma once

#include "ir/optimizer.h"
#include "passes/gradient/bundle_parameters.h"

namespace tessera {

struct DirectionInputs {
  ValueId gradient, momentum;  // this rank's shard of the flat buffers; the momentum is returned
  ValueId step, norm_squares;
};

// This rank's shard, as the gradient is kept. `settings`: of the optimizer's row, all of them.
ValueId orthogonal_direction(BlockClass& block_class, const Plan& plan, const BundlePlan& bundle,
                             const OptimizerOptions& options, const OptimizerSettings& settings,
                             const DirectionInputs& inputs);

}  // namespace tessera
