// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> shift_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};
  // One rank; what more of them do is in comm/communicator_test.cpp and tests/plans.
  return {
      {.name = "a_ring_of_one",
       .operands = {{.type = x}},
       .attributes = {{"axes", "none"}},
       .flops = 0},
      {.name = "of_a_vector",
       .operands = {{.type = {DType::Fp64, {{"d", 5}}}}},
       .attributes = {{"axes", "none"}},
       .flops = 0},
      {.name = "of_a_scalar",
       .operands = {{.type = scalar(DType::Fp64)}},
       .attributes = {{"axes", "none"}},
       .flops = 0},
  };
}

}  // namespace tessera
