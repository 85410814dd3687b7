// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

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

}  // namespace

std::vector<OpSample> quantize_samples() {
  const Dim batch{"batch", 3}, seq{"seq", 48}, d{"d", 160};
  const int64_t count = 3 * 48 * 160;
  const SampleOperand x = tensor({batch, seq, d});
  Attributes e5m2 = attributes("tensor", "as_is", 2);
  e5m2.set("format", "e5m2");
  return {
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
}

}  // namespace tessera
