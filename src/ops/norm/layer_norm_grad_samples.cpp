// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> layer_norm_grad_samples() {
  const TensorType x{DType::Fp64, {{"batch", 2}, {"seq", 5}, {"d", 37}}};
  const TensorType gain{DType::Fp64, {{"d", 37}}};
  const TensorType statistics{DType::Fp64, {{"batch", 2}, {"seq", 5}}};
  const TensorType tall{DType::Fp64, {{"seq", 300}, {"d", 40}}};
  const TensorType tall_gain{DType::Fp64, {{"d", 40}}};
  const TensorType tall_statistics{DType::Fp64, {{"seq", 300}}};
  const auto near_one = [](int64_t, double u) { return 0.8 + 0.4 * u; };
  return {
      {.name = "with_bias",
       .operands = {{.type = x},
                    {.type = gain},
                    {.type = statistics, .accumulator = true},
                    {.type = statistics, .accumulator = true, .fill = near_one},
                    {.type = x}},
       .flops = 13 * 2 * 5 * 37},
      {.name = "without_bias",
       .operands = {{.type = x},
                    {.type = gain},
                    {.type = statistics, .accumulator = true},
                    {.type = statistics, .accumulator = true, .fill = near_one},
                    {.type = x}},
       .attributes = {{"has_bias", int64_t{0}}},
       .flops = 12 * 2 * 5 * 37},
      {.name = "several_chunks_of_rows",
       .operands = {{.type = tall},
                    {.type = tall_gain},
                    {.type = tall_statistics, .accumulator = true},
                    {.type = tall_statistics, .accumulator = true, .fill = near_one},
                    {.type = tall}},
       .flops = 13 * 300 * 40},
      {.name = "added_to_more",
       .operands = {{.type = tall},
                    {.type = tall_gain},
                    {.type = tall_statistics, .accumulator = true},
                    {.type = tall_statistics, .accumulator = true, .fill = near_one},
                    {.type = tall},
                    {.type = tall}},
       .flops = 14 * 300 * 40},
  };
}

}  // namespace tessera
