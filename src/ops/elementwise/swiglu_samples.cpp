// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {

std::vector<OpSample> swiglu_samples() {
  const auto far_out = [](int64_t, double u) { return 60 * (u - 0.5); };
  return {
      {.name = "batch_and_seq_outside",
       .operands = {{.type = {DType::Fp64,
                              {{"batch", 2}, {"seq", 3}, {"gate_up", 2}, {"mlp", 18}}}}},
       .flops = 4 * 2 * 3 * 18},
      {.name = "nothing_outside",
       .operands = {{.type = {DType::Fp64, {{"gate_up", 2}, {"mlp", 5}}}}},
       .flops = 4 * 5},
      {.name = "far_from_zero",
       .operands = {{.type = {DType::Fp64, {{"seq", 3}, {"gate_up", 2}, {"mlp", 16}}},
                     .fill = far_out}},
       .flops = 4 * 3 * 16},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"gate_up", 2}, {"mlp", 1000}}}}},
       .flops = 4 * 40 * 1000},
      {.name = "with_the_largest_entry",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"gate_up", 2}, {"mlp", 1000}}},
                     .differentiable = false}},
       .attributes = {{"largest", int64_t{1}}},
       .flops = 4 * 40 * 1000},
  };
}

std::vector<OpSample> swiglu_grad_samples() {
  const auto far_out = [](int64_t, double u) { return 60 * (u - 0.5); };
  return {
      {.name = "batch_and_seq_outside",
       .operands = {{.type = {DType::Fp64,
                              {{"batch", 2}, {"seq", 3}, {"gate_up", 2}, {"mlp", 18}}}},
                    {.type = {DType::Fp64, {{"batch", 2}, {"seq", 3}, {"mlp", 18}}}}},
       .flops = 10 * 2 * 3 * 18},
      {.name = "far_from_zero",
       .operands = {{.type = {DType::Fp64, {{"gate_up", 2}, {"mlp", 35}}}, .fill = far_out},
                    {.type = {DType::Fp64, {{"mlp", 35}}}}},
       .flops = 10 * 35},
      {.name = "several_pieces",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"gate_up", 2}, {"mlp", 1000}}}},
                    {.type = {DType::Fp64, {{"seq", 40}, {"mlp", 1000}}}}},
       .flops = 10 * 40 * 1000},
      {.name = "with_the_largest_entry",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"gate_up", 2}, {"mlp", 999}}}},
                    {.type = {DType::Fp64, {{"seq", 40}, {"mlp", 999}}}}},
       .attributes = {{"largest", int64_t{1}}},
       .flops = 10 * 40 * 999},
      {.name = "with_the_value",
       .operands = {{.type = {DType::Fp64, {{"seq", 40}, {"gate_up", 2}, {"mlp", 1000}}}},
                    {.type = {DType::Fp64, {{"seq", 40}, {"mlp", 1000}}}}},
       .attributes = {{"value", int64_t{1}}},
       .flops = 11 * 40 * 1000},
      {.name = "with_the_largest_entry_and_the_value",
       .operands = {{.type = {DType::Fp64, {{"seq", 3}, {"gate_up", 2}, {"mlp", 35}}},
                     .fill = far_out},
                    {.type = {DType::Fp64, {{"seq", 3}, {"mlp", 35}}}}},
       .attributes = {{"largest", int64_t{1}}, {"value", int64_t{1}}},
       .flops = 11 * 3 * 35},
  };
}

}  // namespace tessera
