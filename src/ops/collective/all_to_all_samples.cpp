// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> all_to_all_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};
  // One rank; what more of them do is in comm/communicator_test.cpp and tests/plans.
  return {
      {.name = "from_an_outer_dim_to_an_inner_one",
       .operands = {{.type = x}},
       .attributes = {{"split", "d"}, {"join", "seq"}},
       .flops = 0},
      {.name = "from_an_inner_dim_to_an_outer_one",
       .operands = {{.type = x}},
       .attributes = {{"split", "seq"}, {"join", "d"}},
       .flops = 0},
      {.name = "with_a_dim_between_them",
       .operands = {{.type = x}},
       .attributes = {{"split", "d"}, {"join", "batch"}},
       .flops = 0},
  };
}

}  // namespace tessera
