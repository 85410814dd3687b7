// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/pool_samples.h"

namespace tessera {
namespace {

OpSample sample(std::string name, int64_t experts, int64_t slots, const Dims& first,
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
  OpSample own_dtype = sample("in_its_own_dtype", 3, 4, {d}, {mlp});
  own_dtype.attributes = {{"dtype", "same"}};
  return {
      sample("gates_and_ups", 4, 5, {d}, {gate_up, mlp}),
      sample("one_expert", 1, 7, {mlp}, {d}),
      own_dtype,
      sample("more_rows_than_a_block_is_deep", 2, 450, {{"d", 19}}, {{"expert_mlp", 70}}),
      sample("many_small_experts", 9, 3, {{"d", 9}}, {{"expert_mlp", 7}}),
  };
}

}  // namespace tessera
