// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/fp8/fp8_scaling.h"
#include "ops/moe/pool_samples.h"

namespace tessera {
namespace {

SampleOperand expert_bytes(Dims dims, DType format = DType::E4m3) {
  return {.type = {format, std::move(dims)},
          .differentiable = false,
          .fill = [](int64_t, double u) { return 400 * (2 * u - 1); }};
}

// Powers of two.
SampleOperand expert_scales(TensorType type) {
  return {.type = std::move(type),
          .differentiable = false,
          .own_dtype = true,
          .fill = [](int64_t i, double) { return 1.0 / static_cast<double>(64 << i % 4); }};
}

struct Sizes {
  int64_t experts, slots, k, n;
  DType first = DType::E4m3, second = DType::E4m3;
  bool scaled_apart = false;  // by tiles and blocks
};

OpSample sample(std::string name, const Sizes& s) {
  const Dim expert{"expert", s.experts}, slot{"slot", s.slots}, d{"d", s.k}, mlp{"mlp", s.n};
  const int64_t rows = s.experts * s.slots;
  const Fp8Scaling x = s.scaled_apart ? Fp8Scaling::Tiles : Fp8Scaling::Tensor,
                   w = s.scaled_apart ? Fp8Scaling::Blocks : Fp8Scaling::Tensor;
  return {.name = std::move(name),
          .operands = {expert_bytes({expert, slot, d}, s.first),
                       expert_bytes({expert, mlp, d}, s.second),
                       expert_scales(fp8_scale_type(x, rows, s.k)),
                       expert_scales(fp8_scale_type(w, s.n, s.k, {expert})),
                       ends_of_full_pool(s.experts, s.slots)},
          .flops = 2 * rows * s.k * s.n};
}

OpSample dw_sample(std::string name, const Sizes& s) {
  const Dim expert{"expert", s.experts}, slot{"slot", s.slots}, d{"d", s.k}, mlp{"mlp", s.n};
  const int64_t rows = s.experts * s.slots;
  const Fp8Scaling scaling = s.scaled_apart ? Fp8Scaling::Tiles : Fp8Scaling::Tensor;
  return {.name = std::move(name),
          .operands = {expert_bytes({d, expert, slot}, s.first),
                       expert_bytes({mlp, expert, slot}, s.second),
                       expert_scales(fp8_scale_type(scaling, s.k, rows)),
                       expert_scales(fp8_scale_type(scaling, s.n, rows)),
                       ends_of_full_pool(s.experts, s.slots)},
          .attributes = {{"dtype", "fp64"}},
          .flops = 2 * rows * s.k * s.n};
}

}  // namespace

std::vector<OpSample> expert_matmul_fp8_samples() {
  return {
      sample("a_scale_for_each_side", {4, 12, 48, 32}),
      sample("a_gradient_in_e5m2", {3, 20, 64, 48, DType::E5m2}),
      sample("tiles_and_blocks", {3, 48, 256, 144, DType::E4m3, DType::E4m3, true}),
      sample("sizes_that_sixteen_does_not_divide", {3, 5, 39, 7}),
  };
}

std::vector<OpSample> expert_matmul_dw_fp8_samples() {
  return {
      dw_sample("a_scale_for_each_side", {4, 12, 48, 32}),
      dw_sample("gradients_in_e5m2", {3, 16, 64, 48, DType::E4m3, DType::E5m2}),
      dw_sample("tiles", {3, 64, 144, 80, DType::E4m3, DType::E4m3, true}),
      dw_sample("sizes_that_sixteen_does_not_divide", {3, 5, 39, 7}),
  };
}

}  // namespace tessera
