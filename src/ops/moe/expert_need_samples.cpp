// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

OpSample sample(std::string name, int64_t experts, double per_expert, int64_t slots) {
  const Dim expert{"expert", experts};
  return {.name = std::move(name),
          .operands = {{.type = {DType::Int32, {expert}},
                        .fill = [=](int64_t e,
                                    double) { return per_expert * static_cast<double>(e + 1); }},
                       {.type = {DType::Int32, {expert, {"slot", slots}}},
                        .fill = [](int64_t i, double) { return static_cast<double>(i); }}},
          .attributes = {},
          .flops = 1};
}

}  // namespace

std::vector<OpSample> expert_need_samples() {
  return {
      sample("rows_to_spare", 4, 3, 4),
      sample("too_few_rows", 8, 5, 3),
      sample("one_expert", 1, 7, 7),
      {.name = "no_pool", .operands = {}, .attributes = {}, .flops = 1},
  };
}

}  // namespace tessera
