// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> recv_samples() {
  // One rank: nothing moves. What two of them do is in comm/communicator_test.cpp and tests/plans.
  return {
      {.name = "of_a_matrix",
       .operands = {{.type = {DType::Fp64, {{"batch", 3}, {"d", 5}}}}},
       .flops = 0},
      {.name = "of_a_stream",
       .operands = {{.type = {DType::Fp64, {{"batch", 2}, {"seq", 3}, {"d", 4}}}}},
       .flops = 0},
      {.name = "of_a_scalar", .operands = {{.type = scalar(DType::Fp64)}}, .flops = 0},
  };
}

}  // namespace tessera
