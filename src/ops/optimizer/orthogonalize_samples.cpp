// SPDX-License-Identifier: Apache-2.0
#include "ops/op_sample.h"

namespace tessera {
namespace {

// A GPU iterates in bf16, which PyTorch's was up to 0.24 off in for sizes like these (30 seeds of
// each); the CPU iterates in fp32, which the tolerance of fp32 holds to.
constexpr double kOrthogonalInBf16 = 0.3;

OpSample orthogonal_sample(std::string name, int64_t elements, std::string matrices,
                           int64_t flops) {
  return {.name = std::move(name),
          .operands = {{.type = {DType::Fp64, {{"flat", elements}}}}},
          .attributes = {{"matrices", std::move(matrices)}},
          .flops = flops,
          .tolerance_fp32 = 1e-4,
          .tolerance_bf16 = kOrthogonalInBf16};
}

}  // namespace

std::vector<OpSample> orthogonalize_samples() {
  // 4 x 6: 96 + 5 (384 + 128 + 48 + 48) = 3136; 5 x 5: 100 + 5 (500 + 250 + 75 + 50) = 4475.
  OpSample tall = orthogonal_sample("tall_and_square_with_padding", 64, "0.r6-4.c4-1+32.r5-5.c5-1",
                                    3136 + 4475);
  tall.attributes.set("matched_rms", 0.0);
  OpSample owned = orthogonal_sample("the_second_of_three_ranks_has_one_matrix", 96,
                                     "0.s4-24.r4-6.c6-1", 4 * 3136 / 3);
  owned.operands.push_back(
      {.type = scalar(DType::Int32), .fill = [](int64_t, double) { return 1; }});
  owned.attributes.set("ranks", int64_t{3});
  return {
      tall,
      owned,
      // d x 2 x mlp, where two ranks have half of mlp each, one after the other: 64 each.
      orthogonal_sample("columns_in_two_pieces", 128, "0.s2-3.r4-6.c2-64.c3-1", 2 * 3136),
      orthogonal_sample("rows_in_two_pieces", 64, "0.r2-32.r2-6.c6-1", 3136),
      // 40 x 70: 11200 + 5 (448000 + 128000 + 4800 + 5600).
      orthogonal_sample("larger_than_a_strip", 2816, "0.r40-70.c70-1", 11200 + 5 * 586400),
  };
}

}  // namespace tessera
