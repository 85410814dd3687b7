// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> take_shard_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 4}, {"d", 5}}};
  const auto share = [](double i) {
    return SampleOperand{.type = {DType::Int32, {}}, .fill = [i](int64_t, double) { return i; }};
  };
  return {
      {.name = "the_last_share_of_an_inner_dim",
       .operands = {{.type = x}, share(1)},
       .attributes = {{"dim", "seq"}, {"ranks", int64_t{2}}}},
      {.name = "a_middle_share_of_the_innermost_dim",
       .operands = {{.type = x}, share(2)},
       .attributes = {{"dim", "d"}, {"ranks", int64_t{5}}}},
      {.name = "the_first_share_of_the_outermost_dim",
       .operands = {{.type = x}, share(0)},
       .attributes = {{"dim", "batch"}, {"ranks", int64_t{3}}}},
  };
}

}  // namespace tessera
