// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> scale_samples() {
  return {
      {.name = "twice",
       .operands = {{.type = {DType::Fp64, {{"batch", 3}, {"d", 21}}}}},
       .attributes = {{"factor", 2.0}},
       .flops = 63},
      {.name = "turned_and_smaller",
       .operands = {{.type = {DType::Fp64, {{"batch", 2}, {"seq", 4}, {"d", 8}}}}},
       .attributes = {{"factor", -0.3}},
       .flops = 64},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"d", 1000}}}}},
       .attributes = {{"factor", 1.0 / 3}},
       .flops = 40000},
  };
}

}  // namespace tessera
