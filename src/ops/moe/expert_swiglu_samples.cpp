// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/pool_samples.h"

namespace tessera {
namespace {

OpSample sample(std::string name, int64_t experts, int64_t slots, int64_t mlp) {
  const Dim expert{"expert", experts}, slot{"slot", slots};
  return {.name = std::move(name),
          .operands = {{.type = {DType::Fp64, {expert, slot, {"gate_up", 2}, {"expert_mlp", mlp}}}},
                       {.type = {DType::Fp64, {expert, slot}}, .accumulator = true},
                       ends_of_full_pool(experts, slots)},
          .flops = 5 * experts * slots * mlp};
}

}  // namespace

std::vector<OpSample> expert_swiglu_samples() {
  return {
      sample("several_experts", 4, 5, 18),
      sample("one_row", 1, 1, 5),
      sample("several_pieces", 5, 8, 1000),
  };
}

namespace {

OpSample grad_sample(std::string name, int64_t experts, int64_t slots, int64_t mlp, int64_t again) {
  const Dim expert{"expert", experts}, slot{"slot", slots}, inner{"expert_mlp", mlp};
  return {.name = std::move(name),
          .operands = {{.type = {DType::Fp64, {expert, slot, {"gate_up", 2}, inner}}},
                       {.type = {DType::Fp64, {expert, slot}}, .accumulator = true},
                       {.type = {DType::Fp64, {expert, slot, inner}}},
                       ends_of_full_pool(experts, slots)},
          .attributes = {{"again", again}},
          .flops = (13 + again) * experts * slots * mlp};
}

}  // namespace

std::vector<OpSample> expert_swiglu_grad_samples() {
  return {
      grad_sample("several_experts", 4, 5, 18, 0),
      grad_sample("with_the_result_again", 3, 2, 35, 1),
      grad_sample("several_pieces", 5, 8, 1000, 1),
  };
}

}  // namespace tessera
