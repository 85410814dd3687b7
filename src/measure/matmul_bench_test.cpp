// SPDX-License-Identifier: Apache-2.0
#include "measure/matmul_bench.h"

#include <gtest/gtest.h>

#include "exec/testing/openblas.h"
#include "models/presets.h"

namespace tessera {
namespace {

TEST(BenchMatmul, TimesEveryProductInEveryDtypeAndOpenblasInFp32Alone) {
  SKIP_WITHOUT_OPENBLAS();
  const MatmulBenchResult result = bench_matmul(
      {.matmuls = {{"square", {.m = 48, .n = 48, .k = 48}},
                   {"flat",
                    {.m = 8, .n = 64, .k = 32, .a_transposed = true, .b_transposed = true}}},
       .dtypes = {DType::Fp32, DType::Bf16},
       .threads = 2,
       .rounds = 1,
       .budget_seconds = 0.001});
  ASSERT_EQ(result.rows.size(), 4u);
  EXPECT_GT(result.peak_flops_per_second, 0);
  for (const MatmulBenchRow& row : result.rows) {
    const double flops = row.matmul.shape.flops();
    EXPECT_GT(row.own_seconds, 0);
    EXPECT_DOUBLE_EQ(row.own_peak_share * row.own_seconds * result.peak_flops_per_second, flops);
    EXPECT_EQ(row.openblas_seconds > 0, row.dtype == DType::Fp32);
    EXPECT_EQ(row.openblas_peak_share > 0, row.dtype == DType::Fp32);
  }
}

TEST(LayerMatmuls, AreThoseOfEachWeightWithoutAttentionAndHead) {
  const auto matmuls = layer_matmuls(find_preset("gpt2-124m").config, {.batch = 2, .seq = 64});
  ASSERT_EQ(matmuls.size(), 12u);
  double flops = 0;
  for (const NamedMatmul& matmul : matmuls) flops += matmul.shape.flops();
  EXPECT_DOUBLE_EQ(flops, 3 * 2.0 * 128 * 12 * 768 * 768);
}

}  // namespace
}  // namespace tessera
