// SPDX-License-Identifier: Apache-2.0
#include "ops/fp8/fp8_scaling.h"
#include "ops/op_sample.h"

namespace tessera {
namespace {

SampleOperand bytes(Dims dims, DType format = DType::E4m3) {
  return {.type = {format, std::move(dims)},
          .differentiable = false,
          .fill = [](int64_t, double u) { return 400 * (2 * u - 1); }};
}

// Powers of two.
SampleOperand scale(double value) {
  return {.type = scalar(DType::Fp32), .differentiable = false, .fill = [value](int64_t, double) {
            return value;
          }};
}
SampleOperand scales(Fp8Scaling scaling, int64_t rows, int64_t k) {
  return {.type = fp8_scale_type(scaling, rows, k),
          .differentiable = false,
          .own_dtype = true,
          .fill = [](int64_t i, double) { return 1.0 / static_cast<double>(64 << i % 4); }};
}

SampleOperand addend(Dims dims) {
  return {.type = {DType::Fp64, std::move(dims)}, .differentiable = false, .accumulator = true};
}

}  // namespace

std::vector<OpSample> matmul_fp8_samples() {
  const Dim tokens{"seq", 48}, d{"d", 64}, mlp{"mlp", 32};
  const int64_t flops = 2 * 48 * 64 * 32;
  const Attributes wide{{"dtype", "fp64"}};
  const Dim wide_d{"d", 256}, many{"mlp", 144};
  const auto tiles = [](int64_t rows) { return scales(Fp8Scaling::Tiles, rows, 256); };
  const SampleOperand blocks = scales(Fp8Scaling::Blocks, 144, 256);
  return {
      {.name = "forward",
       .operands = {bytes({tokens, d}), bytes({mlp, d}), scale(0.25), scale(0.0078125)},
       .flops = flops},
      {.name = "a_gradient_in_e5m2",
       .operands = {bytes({tokens, mlp}, DType::E5m2), bytes({d, mlp}), scale(1), scale(2)},
       .attributes = wide,
       .flops = flops},
      {.name = "weight_gradient",
       .operands = {bytes({d, tokens}), bytes({mlp, tokens}, DType::E5m2), scale(1), scale(2)},
       .attributes = wide,
       .flops = flops},
      {.name = "an_addend",
       .operands = {bytes({tokens, d}), bytes({mlp, d}), scale(0.25), scale(0.0078125),
                    addend({tokens, mlp})},
       .attributes = wide,
       .flops = flops + 48 * 32},
      {.name = "sizes_that_sixteen_does_not_divide",
       .operands = {bytes({{"seq", 5}, {"d", 39}}), bytes({{"mlp", 7}, {"d", 39}}), scale(0.5),
                    scale(1)},
       .attributes = wide,
       .flops = 2 * 5 * 39 * 7},
      {.name = "tiles_and_blocks",
       .operands = {bytes({tokens, wide_d}), bytes({many, wide_d}), tiles(48), blocks},
       .flops = 2 * 48 * 256 * 144},
      {.name = "tiles_and_tiles_in_fp32",
       .operands = {bytes({tokens, wide_d}), bytes({many, wide_d}), tiles(48), tiles(144)},
       .attributes = wide,
       .flops = 2 * 48 * 256 * 144},
      {.name = "blocks_and_blocks_are_decoded",
       .operands = {bytes({tokens, wide_d}), bytes({many, wide_d}),
                    scales(Fp8Scaling::Blocks, 48, 256), blocks},
       .attributes = wide,
       .flops = 2 * 48 * 256 * 144},
  };
}

}  // namespace tessera
