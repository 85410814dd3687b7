// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> all_gather_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};
  // One rank; what more of them do is in comm/communicator_test.cpp and tests/plans.
  return {
      {.name = "an_inner_dim",
       .operands = {{.type = x}},
       .attributes = {{"dim", "seq"}},
       .flops = 0},
      {.name = "the_outermost_dim",
       .operands = {{.type = x}},
       .attributes = {{"dim", "batch"}},
       .flops = 0},
      {.name = "the_innermost_dim",
       .operands = {{.type = x}},
       .attributes = {{"dim", "d"}},
       .flops = 0},
  };
}

}  // namespace tessera
