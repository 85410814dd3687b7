// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> add_samples() {
  const TensorType x{DType::Fp64, {{"batch", 2}, {"seq", 3}, {"d", 17}}};
  const TensorType vector{DType::Fp64, {{"d", 5}}};
  const TensorType large{DType::Fp64, {{"seq", 40}, {"d", 1000}}};
  return {
      {.name = "residual_stream", .operands = {{.type = x}, {.type = x}}, .flops = 2 * 3 * 17},
      {.name = "parameter_on_one_side",
       .operands = {{.type = vector}, {.type = vector, .parameter = true}},
       .flops = 5},
      {.name = "several_pieces", .operands = {{.type = large}, {.type = large}}, .flops = 40000},
  };
}

}  // namespace tessera
