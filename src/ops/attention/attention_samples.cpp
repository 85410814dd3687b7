// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "ops/attention/attention_operands_samples.h"

namespace tessera {

OpSample attention_sample(const AttentionCase& c) {
  OpSample sample{.name = c.name,
                  .operands = {{.type = c.q()}, {.type = c.k()}, {.type = c.v()}},
                  .attributes = {{"scale", c.scale}},
                  .flops = 2 * (c.e + c.value_dim().size) * c.causal_pairs()};
  c.add_indices(sample.operands);
  return sample;
}

std::vector<OpSample> attention_samples() {
  std::vector<OpSample> samples;
  for (const AttentionCase& c : attention_cases()) samples.push_back(attention_sample(c));
  return samples;
}

namespace {

OpSample sample_of(const AttentionCase& c, const std::function<double(int64_t, double)>& lse) {
  OpSample sample{.name = c.name,
                  .operands = {{.type = c.q()},
                               {.type = c.k()},
                               {.type = c.v()},
                               {.type = c.o()},
                               {.type = c.lse(), .accumulator = true, .fill = lse},
                               {.type = c.o()}},
                  .attributes = {{"scale", c.scale}},
                  .flops = (6 * c.e + 4 * c.value_dim().size) * c.causal_pairs()};
  c.add_indices(sample.operands);
  return sample;
}

}  // namespace

OpSample attention_grad_sample(const AttentionCase& c) {
  return sample_of(c, [](int64_t, double u) { return 2 + u; });
}

// lse need not belong to q and k: the kernel takes it as given. It must only keep exp(score - lse)
// in bounds.
std::vector<OpSample> attention_grad_samples() {
  std::vector<OpSample> samples;
  for (const AttentionCase& c : attention_cases()) samples.push_back(attention_grad_sample(c));
  const AttentionCase unseen{
      .name = "rows_that_saw_nothing", .batch = 1, .seq = 8, .kv_heads = 2, .group = 2, .e = 5};
  samples.push_back(sample_of(unseen, [](int64_t i, double u) {
    return i % 3 == 0 ? -std::numeric_limits<double>::infinity() : 2 + u;
  }));
  return samples;
}

}  // namespace tessera
