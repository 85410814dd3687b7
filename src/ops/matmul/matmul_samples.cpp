// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

TensorType fp64(Dims dims) { return {DType::Fp64, std::move(dims)}; }

}  // namespace

std::vector<OpSample> matmul_samples() {
  const Dim batch{"batch", 2}, seq{"seq", 5}, d{"d", 12}, heads{"heads", 3}, e{"e", 4};
  return {
      {.name = "weight_with_its_summed_dim_outermost",
       .operands = {{.type = fp64({batch, seq, d})},
                    {.type = fp64({d, heads, e}), .parameter = true}},
       .flops = 2 * 10 * 12 * 12},
      {.name = "weight_with_its_summed_dim_innermost",
       .operands = {{.type = fp64({batch, seq, d})},
                    {.type = fp64({{"vocab", 17}, d}), .parameter = true}},
       .flops = 2 * 10 * 17 * 12},
      {.name = "two_summed_dims",
       .operands = {{.type = fp64({batch, seq, heads, e})},
                    {.type = fp64({heads, e, d}), .parameter = true}},
       .flops = 2 * 10 * 12 * 12},
      {.name = "both_outermost_as_in_a_weight_gradient",
       .operands = {{.type = fp64({batch, seq, d})}, {.type = fp64({batch, seq, heads, e})}},
       .attributes = {{"dtype", "fp64"}},
       .flops = 2 * 12 * 12 * 10},
      {.name = "outermost_times_innermost",
       .operands = {{.type = fp64({d, seq})}, {.type = fp64({heads, d}), .parameter = true}},
       .flops = 2 * 5 * 3 * 12},
      {.name = "several_blocks_and_ragged_edges",
       .operands = {{.type = fp64({{"rows", 103}, {"d", 401}})},
                    {.type = fp64({{"d", 401}, {"mlp", 131}}), .parameter = true}},
       .flops = 2 * 103 * 131 * 401},
      {.name = "addend",
       .operands = {{.type = fp64({batch, seq, d})},
                    {.type = fp64({d, heads, e}), .parameter = true},
                    {.type = fp64({batch, seq, heads, e})}},
       .flops = 2 * 10 * 12 * 12 + 10 * 12},
      {.name = "addend_of_an_input_gradient",
       .operands = {{.type = fp64({{"rows", 16}, {"mlp", 48}})},
                    {.type = fp64({{"d", 32}, {"mlp", 48}})},
                    {.type = fp64({{"rows", 16}, {"d", 32}})}},
       .flops = 2 * 16 * 32 * 48 + 16 * 32},
  };
}

}  // namespace tessera
