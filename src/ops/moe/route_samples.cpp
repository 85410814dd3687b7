// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

SampleOperand logits(Dims dims) {
  return {.type = {DType::Fp64, std::move(dims)}, .accumulator = true};
}

// A bias that decides some of the choices.
SampleOperand bias(int64_t experts) {
  return {.type = {DType::Fp64, {{"choice", experts}}},
          .differentiable = false,
          .accumulator = true,
          .fill = [](int64_t i, double u) { return 0.3 * u + 0.05 * static_cast<double>(i % 3); }};
}

}  // namespace

std::vector<OpSample> route_samples() {
  const Dim batch{"batch", 2}, seq{"seq", 7};
  return {
      {.name = "normalised_softmax",
       .operands = {logits({batch, seq, {"choice", 8}})},
       .attributes = {{"normalise", int64_t{1}}, {"top_k", int64_t{2}}},
       .flops = (3 + 2) * 2 * 7 * 8},
      {.name = "softmax_over_all",
       .operands = {logits({batch, seq, {"choice", 5}})},
       .attributes = {{"top_k", int64_t{3}}, {"scale", 2.5}},
       .flops = (3 + 3) * 2 * 7 * 5},
      {.name = "softmax_over_the_chosen",
       .operands = {logits({seq, {"choice", 6}})},
       .attributes = {{"score", "topk_softmax"}, {"top_k", int64_t{4}}},
       .flops = (3 + 4) * 7 * 6},
      {.name = "softmax_with_a_bias",
       .operands = {logits({batch, seq, {"choice", 9}}), bias(9)},
       .attributes = {{"top_k", int64_t{2}}},
       .flops = (3 + 2) * 2 * 7 * 9},
      {.name = "sigmoid_with_groups_and_a_bias",
       .operands = {logits({batch, seq, {"choice", 16}}), bias(16)},
       .attributes = {{"score", "sigmoid"},
                      {"normalise", int64_t{1}},
                      {"scale", 2.5},
                      {"groups", int64_t{4}},
                      {"kept", int64_t{2}},
                      {"top_k", int64_t{3}}},
       .flops = (3 + 3) * 2 * 7 * 16},
      {.name = "sigmoid_of_many_tokens",
       .operands = {logits({{"seq", 700}, {"choice", 32}})},
       .attributes = {{"score", "sigmoid"}, {"top_k", int64_t{1}}},
       .flops = (3 + 1) * 700 * 32},
      {.name = "every_expert_chosen",
       .operands = {logits({seq, {"choice", 4}})},
       .attributes = {{"top_k", int64_t{4}}},
       .flops = (3 + 4) * 7 * 4},
  };
}

namespace {

// Token t chooses experts t, t + 1, ..., which need not be the best ones.
std::vector<SampleOperand> grad_operands(int64_t tokens, int64_t experts, int64_t top_k) {
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
       .operands = grad_operands(7, 8, 2),
       .attributes = {{"normalise", int64_t{1}}, {"top_k", int64_t{2}}},
       .flops = 5 * 7 * 8},
      {.name = "softmax_over_all",
       .operands = grad_operands(600, 33, 3),
       .attributes = {{"top_k", int64_t{3}}, {"scale", 0.5}},
       .flops = 5 * 600 * 33},
      {.name = "normalised_sigmoid",
       .operands = grad_operands(9, 6, 3),
       .attributes =
           {{"score", "sigmoid"}, {"normalise", int64_t{1}}, {"scale", 2.5}, {"top_k", int64_t{3}}},
       .flops = 5 * 9 * 6},
      {.name = "sigmoid_of_one",
       .operands = grad_operands(5, 4, 1),
       .attributes = {{"score", "sigmoid"}, {"top_k", int64_t{1}}},
       .flops = 5 * 5 * 4},
  };
}

}  // namespace tessera
