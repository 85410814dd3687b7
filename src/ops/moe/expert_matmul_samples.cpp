// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/pool_samples.h"

namespace tessera {
namespace {

OpSample sample(std::string name, int64_t experts, int64_t slots, const Dims& row, const Dims& w) {
  const Dim expert{"expert", experts};
  TensorType x{DType::Fp64, {expert, {"slot", slots}}}, weights{DType::Fp64, {expert}};
  x.dims.insert(x.dims.end(), row.begin(), row.end());
  weights.dims.insert(weights.dims.end(), w.begin(), w.end());
  return {.name = std::move(name),
          .operands = {{.type = x},
                       {.type = weights, .parameter = true},
                       ends_of_full_pool(experts, slots)},
          .flops = 2 * slots * weights.num_elements()};
}

}  // namespace

std::vector<OpSample> expert_matmul_samples() {
  const Dim d{"d", 12}, gate_up{"gate_up", 2}, mlp{"expert_mlp", 6};
  return {
      sample("gates_and_ups", 4, 5, {d}, {d, gate_up, mlp}),
      sample("weights_with_their_summed_dims_innermost", 4, 5, {gate_up, mlp}, {d, gate_up, mlp}),
      sample("one_expert", 1, 7, {d}, {d, mlp}),
      sample("many_small_experts", 9, 3, {{"d", 9}}, {{"d", 9}, {"expert_mlp", 7}}),
      sample("several_blocks_and_ragged_edges", 3, 70, {{"d", 401}},
             {{"d", 401}, {"expert_mlp", 131}}),
  };
}

namespace {

OpSample dw_sample(std::string name, int64_t experts, int64_t slots, const Dims& first,
                   const Dims& second) {
  TensorType a{DType::Fp64, {{"expert", experts}, {"slot", slots}}}, b = a;
  a.dims.insert(a.dims.end(), first.begin(), first.end());
  b.dims.insert(b.dims.end(), second.begin(), second.end());
  return {.name = std::move(name),
          .operands = {{.type = a}, {.type = b}, ends_of_full_pool(experts, slots)},
          .attributes = {{"dtype", "fp64"}},
          .flops = 2 * a.num_elements() * num_elements(second)};
}

}  // namespace

std::vector<OpSample> expert_matmul_dw_samples() {
  const Dim d{"d", 12}, gate_up{"gate_up", 2}, mlp{"expert_mlp", 6};
  OpSample own_dtype = dw_sample("in_its_own_dtype", 3, 4, {d}, {mlp});
  own_dtype.attributes = {{"dtype", "same"}};
  return {
      dw_sample("gates_and_ups", 4, 5, {d}, {gate_up, mlp}),
      dw_sample("one_expert", 1, 7, {mlp}, {d}),
      own_dtype,
      dw_sample("more_rows_than_a_block_is_deep", 2, 450, {{"d", 19}}, {{"expert_mlp", 70}}),
      dw_sample("many_small_experts", 9, 3, {{"d", 9}}, {{"expert_mlp", 7}}),
  };
}

}  // namespace tessera
