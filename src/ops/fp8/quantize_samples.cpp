// SPDX-License-Identifier: Apache-2.0
#include "ops/moe/pool_samples.h"

namespace tessera {
namespace {

// Sizes that differ from place to place, so that scales of tiles do.
SampleOperand tensor(Dims dims, double size = 1) {
  return {.type = {DType::Fp64, std::move(dims)},
          .differentiable = false,
          .fill = [size](int64_t i, double u) {
            return size * static_cast<double>(1 + i % 7) * static_cast<double>(1 + i / 501 % 5) *
                   (2 * u - 1);
          }};
}

SampleOperand largest(double size) {
  return {.type = scalar(DType::Fp32), .differentiable = false, .fill = [size](int64_t, double) {
            return size;
          }};
}

Attributes attributes(const char* scaling, const char* layout, int64_t split = 1) {
  return {{"scaling", scaling}, {"layout", layout}, {"split", split}};
}

// Of [expert, d, gate_up, mlp].
Attributes of_matrices(const char* scaling) {
  Attributes all = attributes(scaling, "both", 2);
  all.set("matrices", int64_t{1});
  return all;
}

std::vector<OpSample> experts_weights() {
  return {
      {.name = "weights_of_experts",
       .operands = {tensor({{"expert", 3}, {"d", 144}, {"gate_up", 2}, {"mlp", 48}}), largest(40)},
       .attributes = of_matrices("tensor"),
       .flops = 3 * 144 * 96},
      {.name = "weights_of_experts_in_blocks",
       .operands = {tensor({{"expert", 3}, {"d", 144}, {"gate_up", 2}, {"mlp", 80}}, 0.02)},
       .attributes = of_matrices("blocks"),
       .flops = 3 * 144 * 160},
      {.name = "odd_weights_of_experts",
       .operands = {tensor({{"expert", 2}, {"d", 7}, {"gate_up", 2}, {"mlp", 5}}), largest(40)},
       .attributes = of_matrices("tensor"),
       .flops = 2 * 7 * 10},
  };
}

}  // namespace

std::vector<OpSample> quantize_samples() {
  const Dim batch{"batch", 3}, seq{"seq", 48}, d{"d", 160};
  const int64_t count = 3 * 48 * 160;
  const SampleOperand x = tensor({batch, seq, d});
  Attributes e5m2 = attributes("tensor", "as_is", 2);
  e5m2.set("format", "e5m2");
  std::vector<OpSample> all = experts_weights();
  const std::vector<OpSample> matrices{
      {.name = "as_it_is",
       .operands = {x, largest(40)},
       .attributes = attributes("tensor", "as_is", 2),
       .flops = count},
      {.name = "turned",
       .operands = {x, largest(40)},
       .attributes = attributes("tensor", "turned", 2),
       .flops = count},
      {.name = "both_from_one_pass",
       .operands = {x, largest(40)},
       .attributes = attributes("tensor", "both", 2),
       .flops = count},
      {.name = "entries_above_the_one_given_become_the_largest_number",
       .operands = {x, largest(0.3)},
       .attributes = std::move(e5m2),
       .flops = count},
      {.name = "tiles_of_128",
       .operands = {x},
       .attributes = attributes("tiles", "both", 2),
       .flops = count},
      {.name = "tiles_turned",
       .operands = {x},
       .attributes = attributes("tiles", "turned", 2),
       .flops = count},
      {.name = "blocks_of_128",
       .operands = {tensor({{"d", 272}, {"mlp", 144}}, 0.02)},
       .attributes = attributes("blocks", "both"),
       .flops = 272 * 144},
      {.name = "sizes_that_sixteen_does_not_divide",
       .operands = {tensor({{"seq", 5}, {"d", 139}}), largest(40)},
       .attributes = attributes("tensor", "both"),
       .flops = 5 * 139},
      {.name = "tiles_that_sixteen_does_not_divide",
       .operands = {tensor({{"seq", 131}, {"d", 139}})},
       .attributes = attributes("tiles", "both"),
       .flops = 131 * 139},
      {.name = "blocks_that_sixteen_does_not_divide",
       .operands = {tensor({{"seq", 131}, {"d", 139}})},
       .attributes = attributes("blocks", "both"),
       .flops = 131 * 139},
  };
  all.insert(all.end(), matrices.begin(), matrices.end());
  return all;
}

std::vector<OpSample> quantize_pool_samples() {
  const auto of = [](std::string name, int64_t experts, int64_t slots, int64_t d,
                     const char* scaling, const char* layout) -> OpSample {
    OpSample made{.name = std::move(name),
                  .operands = {tensor({{"expert", experts}, {"slot", slots}, {"d", d}}),
                               ends_of_full_pool(experts, slots)},
                  .attributes = {{"scaling", scaling}, {"layout", layout}},
                  .flops = experts * slots * d};
    if (scaling == std::string("tensor")) made.operands.push_back(largest(40));
    return made;
  };
  return {
      of("both_from_one_pass", 4, 40, 160, "tensor", "both"),
      of("turned", 3, 48, 32, "tensor", "turned"),
      of("tiles_of_several_experts", 5, 48, 144, "tiles", "both"),
      of("tiles_as_they_lie", 2, 80, 272, "tiles", "as_is"),
      of("sizes_that_sixteen_does_not_divide", 3, 5, 39, "tensor", "both"),
  };
}

}  // namespace tessera
