// SPDX-License-Identifier: Apache-2.0
#include "ops/attention/attention_operands_samples.h"

namespace tessera {

// lse need not belong to q and k: the kernel takes it as given. It must only keep exp(score - lse)
// in bounds.
std::vector<OpSample> attention_grad_samples() {
  std::vector<OpSample> samples;
  for (const AttentionCase& c : attention_cases())
    samples.push_back({.name = c.name,
                       .operands = {{.type = c.q()},
                                    {.type = c.k()},
                                    {.type = c.k()},
                                    {.type = c.q()},
                                    {.type = c.lse(),
                                     .accumulator = true,
                                     .fill = [](int64_t, double u) { return 2 + u; }},
                                    {.type = c.q()},
                                    c.index(c.position),
                                    c.index(c.document)},
                       .attributes = {{"scale", c.scale}},
                       .flops = 10 * c.e * c.causal_pairs()});
  return samples;
}

}  // namespace tessera
