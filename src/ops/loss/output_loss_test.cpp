// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/output_loss.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// 2048 rows of GPT-2 fall into chunks of 294 and a last one of 284, whose gradient of the table
// needs more workspace than that of a whole chunk.
TEST(OutputLoss, HasWorkspaceForAShorterLastChunk) {
  const TensorType x{DType::Fp32, {{"batch", 2}, {"seq", 1024}, {"d", 768}}};
  const TensorType table{DType::Fp32, {{"vocab", 50257}, {"d", 768}}};
  const OutputLossSizes sizes(x, table);
  const int64_t last_rows = sizes.rows % sizes.chunk_rows;
  ASSERT_GT(last_rows, 0);
  const int64_t needed = gemm_workspace_bytes(sizes.vocab, sizes.width, last_rows, 4, 2);
  ASSERT_GT(needed, gemm_workspace_bytes(sizes.vocab, sizes.width, sizes.chunk_rows, 4, 2));
  EXPECT_GE(sizes.workspace_bytes(2) - sizes.gemm, needed);
}

}  // namespace
}  // namespace tessera
