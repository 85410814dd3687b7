// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_operands_samples.h"

namespace tessera {

OpSample attention_sample(const AttentionCase& c) {
  OpSample sample{.name = c.name,
                  .operands = {{.type = c.q()}, {.type = c.k()}, {.type = c.k()}},
                  .attributes = {{"scale", c.scale}},
                  .flops = 4 * c.e * c.causal_pairs()};
  c.add_indices(sample.operands);
  return sample;
}

std::vector<OpSample> attention_samples() {
  std::vector<OpSample> samples;
  for (const AttentionCase& c : attention_cases()) samples.push_back(attention_sample(c));
  return samples;
}

}  // namespace tessera
