// SPDX-License-Identifier: Apache-2.0
// -1 as all ones looks unwritten to the suite, so these pools have no row too many; those are in
// routes_test.cpp.
#include "ops/op_sample.h"

namespace tessera {
namespace {

SampleOperand chosen(Dims dims, int64_t experts) {
  return {.type = {DType::Int32, std::move(dims)},
          .fill = [=](int64_t, double u) { return u * u * static_cast<double>(experts); }};
}

Attributes pool(int64_t experts, int64_t slots) { return {{"experts", experts}, {"slots", slots}}; }

}  // namespace

std::vector<OpSample> order_routes_samples() {
  return {
      {.name = "two_choices_of_each_token",
       .operands = {chosen({{"batch", 2}, {"seq", 6}, {"top_k", 2}}, 4)},
       .attributes = pool(4, 6),
       .flops = 2 * 24},
      {.name = "several_chunks",
       .operands = {chosen({{"seq", 400}, {"top_k", 3}}, 8)},
       .attributes = pool(8, 150),
       .flops = 2 * 1200},
      {.name = "one_expert",
       .operands = {chosen({{"seq", 9}, {"top_k", 1}}, 1)},
       .attributes = pool(1, 9),
       .flops = 2 * 9},
      {.name = "experts_that_nobody_chooses",
       .operands = {chosen({{"seq", 16}, {"top_k", 1}}, 3)},
       .attributes = pool(8, 2),
       .flops = 2 * 16},
      {.name = "a_full_pool_that_tells_what_is_needed",
       .operands = {chosen({{"seq", 400}, {"top_k", 3}}, 8)},
       .attributes = {{"experts", int64_t{8}}, {"slots", int64_t{150}}, {"needed", int64_t{1}}},
       .flops = 2 * 1200},
  };
}

}  // namespace tessera
