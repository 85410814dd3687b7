// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> take_position_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 5}, {"d", 9}}};
  const TensorType index{DType::Int32, {{"batch", 3}}};
  return {
      {.name = "last_positions",
       .operands = {{.type = x}, {.type = index, .fill = [](int64_t, double) { return 4.0; }}}},
      {.name = "another_of_each_sequence",
       .operands = {{.type = x},
                    {.type = index,
                     .fill = [](int64_t i,
                                double) { return static_cast<double>((2 + 2 * i) % 5); }}}},
      {.name = "one_sequence_without_batch",
       .operands = {{.type = {DType::Fp64, {{"seq", 5}, {"d", 9}}}},
                    {.type = {DType::Int32, {}}, .fill = [](int64_t, double) { return 3.0; }}}},
  };
}

}  // namespace tessera
