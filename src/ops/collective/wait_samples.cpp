// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> wait_samples() {
  const TensorType x{DType::Fp64, {{"batch", 3}, {"d", 5}}};
  // Nothing is in flight: y is there already.
  return {
      {.name = "of_a_matrix", .operands = {{.type = x}}},
      {.name = "with_its_source", .operands = {{.type = x}, {.type = x}}},
      {.name = "with_a_source_of_another_size",
       .operands = {{.type = x}, {.type = {DType::Fp64, {{"d", 5}}}}}},
  };
}

}  // namespace tessera
