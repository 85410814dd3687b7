// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> clear_gaps_samples() {
  const TensorType flat{DType::Fp64, {{"flat", 96}}};
  return {
      {.name = "two_gaps", .operands = {{.type = flat}}, .attributes = {{"gaps", "3-32+90-96"}}},
      {.name = "one_gap_at_the_end",
       .operands = {{.type = flat}},
       .attributes = {{"gaps", "33-96"}}},
      {.name = "no_gap", .operands = {{.type = flat}}},
  };
}

}  // namespace tessera
