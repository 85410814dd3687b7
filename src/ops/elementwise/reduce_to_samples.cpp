// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> reduce_to_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"seq", 5}, {"heads", 2}, {"e", 9}}};
  const TensorType tall{DType::Fp64, {{"batch", 4}, {"seq", 75}, {"d", 33}}};
  return {
      {.name = "innermost_dim_in_the_accumulators_dtype",
       .operands = {{.type = x}},
       .attributes = {{"keep", int64_t{1}}, {"dtype", "fp64"}},
       .flops = 3 * 5 * 2 * 9},
      {.name = "two_innermost_dims",
       .operands = {{.type = x}},
       .attributes = {{"keep", int64_t{2}}},
       .flops = 3 * 5 * 2 * 9},
      {.name = "to_a_scalar",
       .operands = {{.type = x}},
       .attributes = {{"keep", int64_t{0}}},
       .flops = 3 * 5 * 2 * 9},
      {.name = "nothing_to_sum",
       .operands = {{.type = x}},
       .attributes = {{"keep", int64_t{4}}},
       .flops = 3 * 5 * 2 * 9},
      {.name = "several_chunks_of_rows",
       .operands = {{.type = tall}},
       .attributes = {{"keep", int64_t{1}}, {"dtype", "fp64"}},
       .flops = 4 * 75 * 33},
  };
}

}  // namespace tessera
