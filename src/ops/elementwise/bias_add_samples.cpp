// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> bias_add_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 5}, {"d", 19}}};
  const TensorType heads{DType::Fp64, {{"seq", 7}, {"heads", 3}, {"e", 8}}};
  const TensorType wide{DType::Fp64, {{"seq", 50}, {"d", 700}}};
  return {
      {.name = "one_innermost_dim",
       .operands = {{.type = x}, {.type = {DType::Fp64, {{"d", 19}}}, .parameter = true}},
       .flops = 3 * 5 * 19},
      {.name = "two_innermost_dims",
       .operands = {{.type = heads},
                    {.type = {DType::Fp64, {{"heads", 3}, {"e", 8}}}, .parameter = true}},
       .flops = 7 * 3 * 8},
      {.name = "bias_that_is_no_parameter",
       .operands = {{.type = x}, {.type = {DType::Fp64, {{"d", 19}}}}},
       .flops = 3 * 5 * 19},
      {.name = "several_pieces",
       .operands = {{.type = wide}, {.type = {DType::Fp64, {{"d", 700}}}, .parameter = true}},
       .flops = 50 * 700},
  };
}

}  // namespace tessera
