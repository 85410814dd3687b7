// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_operands_samples.h"

namespace tessera {

std::vector<OpSample> attention_samples() {
  std::vector<OpSample> samples;
  for (const AttentionCase& c : attention_cases()) {
    samples.push_back({.name = c.name,
                       .operands = {{.type = c.q()}, {.type = c.k()}, {.type = c.k()}},
                       .attributes = {{"scale", c.scale}},
                       .flops = 4 * c.e * c.causal_pairs()});
    c.add_indices(samples.back().operands);
  }
  return samples;
}

}  // namespace tessera
