// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> all_reduce_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};
  // One rank; what more of them do is in comm/communicator_test.cpp and tests/plans.
  return {
      {.name = "sum", .operands = {{.type = x}}, .attributes = {{"reduction", "sum"}}, .flops = 0},
      {.name = "largest",
       .operands = {{.type = x}},
       .attributes = {{"reduction", "max"}},
       .flops = 0},
      {.name = "over_two_axes",
       .operands = {{.type = x}},
       .attributes = {{"axes", "dp+cp"}},
       .flops = 0},
  };
}

}  // namespace tessera
