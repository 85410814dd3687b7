// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> moving_average_samples() {
  const TensorType matrix{DType::Fp64, {{"d", 7}, {"mlp", 19}}};
  const TensorType large{DType::Fp64, {{"d", 40001}}};
  return {
      {.name = "slow",
       .operands = {{.type = matrix, .accumulator = true}, {.type = matrix}},
       .attributes = {{"decay", 0.999}},
       .flops = 3 * 7 * 19},
      {.name = "decay_zero_takes_the_weights",
       .operands = {{.type = matrix, .accumulator = true}, {.type = matrix}},
       .attributes = {{"decay", 0.0}},
       .flops = 3 * 7 * 19},
      {.name = "an_update_that_is_not_held",
       .operands = {{.type = matrix, .accumulator = true},
                    {.type = matrix},
                    {.type = scalar(DType::Fp64), .fill = [](int64_t, double) { return 4; }}},
       .attributes = {{"decay", 0.5}},
       .flops = 3 * 7 * 19},
      {.name = "several_pieces",
       .operands = {{.type = large, .accumulator = true}, {.type = large}},
       .attributes = {{"decay", 0.9}},
       .flops = 3 * 40001},
  };
}

}  // namespace tessera
