// SPDX-License-Identifier: Apache-2.0
#include "sim/other_attention.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"

namespace tessera {
namespace {

int64_t kept_elsewhere(RecomputeKind recompute, const OtherAttention& attention) {
  SmallModel model = small_model("Llama");
  const Plan plan =
      make_plan({.mesh = {{"pp", 4}}, .schedule = "gpipe", .recompute = {.kind = recompute}},
                {.kv_heads = model.config.kv_heads});
  const Compiled compiled = compile(model.build(DType::Fp32, 8), {.plan = plan, .microbatches = 8});
  int64_t most = 0;
  for (const Program& program : compiled.programs)
    most = std::max(most, kept_attention_bytes(program, program.script("train_step"), attention));
  return most;
}

// Scores of one layer and microbatch in bf16: 2 bytes each, 5 with dropout; for a moment the
// product has 2 more, and the gradients 2, or 4 with dropout.
TEST(OtherAttention, KeepsItsScoresUntilTheBackward) {
  const auto masks = [](RecomputeKind recompute) {
    return kept_elsewhere(recompute, {.dropout = true});
  };
  const auto of_scores = [&](RecomputeKind recompute, bool dropout) {
    return kept_elsewhere(recompute, {.kernel = "unfused", .dropout = dropout}) -
           (dropout ? masks(recompute) : 0);
  };
  const int64_t scores = of_scores(RecomputeKind::Blocks, false) / 4;  // one block's at a time
  EXPECT_GT(scores, 0);
  EXPECT_EQ(of_scores(RecomputeKind::None, false), (8 * 2 + 2) * scores);  // of every microbatch
  EXPECT_EQ(of_scores(RecomputeKind::None, true), (8 * 5 + 4) * scores);
  EXPECT_GT(masks(RecomputeKind::Blocks), 0);
  EXPECT_EQ(masks(RecomputeKind::None), 8 * masks(RecomputeKind::Blocks));
}

}  // namespace
}  // namespace tessera
