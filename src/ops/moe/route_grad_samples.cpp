// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

// Token t chooses experts t, t + 1, ..., which need not be the best ones.
std::vector<SampleOperand> operands(int64_t tokens, int64_t experts, int64_t top_k) {
  const Dim seq{"seq", tokens}, chosen{"top_k", top_k};
  return {{.type = {DType::Fp64, {seq, {"choice", experts}}}, .accumulator = true},
          {.type = {DType::Int32, {seq, chosen}},
           .fill = [=](int64_t i,
                       double) { return static_cast<double>((i / top_k + i % top_k) % experts); }},
          {.type = {DType::Fp64, {seq, chosen}}, .accumulator = true}};
}

}  // namespace

std::vector<OpSample> route_grad_samples() {
  return {
      {.name = "normalised_softmax",
       .operands = operands(7, 8, 2),
       .attributes = {{"normalise", int64_t{1}}, {"top_k", int64_t{2}}},
       .flops = 5 * 7 * 8},
      {.name = "softmax_over_all",
       .operands = operands(600, 33, 3),
       .attributes = {{"top_k", int64_t{3}}, {"scale", 0.5}},
       .flops = 5 * 600 * 33},
      {.name = "normalised_sigmoid",
       .operands = operands(9, 6, 3),
       .attributes =
           {{"score", "sigmoid"}, {"normalise", int64_t{1}}, {"scale", 2.5}, {"top_k", int64_t{3}}},
       .flops = 5 * 9 * 6},
      {.name = "sigmoid_of_one",
       .operands = operands(5, 4, 1),
       .attributes = {{"score", "sigmoid"}, {"top_k", int64_t{1}}},
       .flops = 5 * 5 * 4},
  };
}

}  // namespace tessera
