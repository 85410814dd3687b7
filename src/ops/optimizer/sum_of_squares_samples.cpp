// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> sum_of_squares_samples() {
  return {
      {.name = "a_matrix",
       .operands = {{.type = {DType::Fp64, {{"d", 7}, {"mlp", 11}}}}},
       .flops = 2 * 77 + 1},
      {.name = "fewer_elements_than_lanes",
       .operands = {{.type = {DType::Fp64, {{"d", 3}}}}},
       .flops = 2 * 3 + 1},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"d", 50001}}}}},
       .flops = 2 * 50001 + 1},
      {.name = "counted_by_half",
       .operands = {{.type = {DType::Fp64, {{"d", 7}}}}},
       .attributes = {{"scale", 0.5}},
       .flops = 2 * 7 + 1},
  };
}

}  // namespace tessera
