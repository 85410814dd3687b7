// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> accumulate_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 21}}};
  return {
      {.name = "same_dtype", .operands = {{.type = x}}},
      {.name = "into_the_accumulators_dtype",
       .operands = {{.type = x}},
       .attributes = {{"dtype", "fp64"}}},
      {.name = "parameter_cast_for_use",
       .operands = {{.type = x, .differentiable = false, .parameter = true, .accumulator = true}},
       .attributes = {{"dtype", "bf16"}}},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"d", 1000}}}}},
       .attributes = {{"dtype", "fp64"}}},
  };
}

}  // namespace tessera
