// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> count_labels_samples() {
  const TensorType labels{DType::Int32, {{"batch", 3}, {"seq", 7}}};
  const auto some_ignored = [](int64_t i, double u) { return i % 4 == 0 ? -1.0 : 100 * u; };
  return {
      {.name = "ignored_labels_left_out",
       .operands = {{.type = labels, .fill = some_ignored}},
       .flops = 21},
      {.name = "all_ignored",
       .operands = {{.type = labels, .fill = [](int64_t, double) { return -100.0; }}},
       .flops = 21},
      {.name = "label_zero_counts",
       .operands = {{.type = labels, .fill = [](int64_t, double) { return 0.0; }}},
       .flops = 21},
      {.name = "all_elements_of_floats",
       .operands = {{.type = {DType::Fp64, {{"batch", 4}, {"d", 6}}}}},
       .flops = 0},
  };
}

}  // namespace tessera
