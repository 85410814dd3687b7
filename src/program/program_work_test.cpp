// SPDX-License-Identifier: Apache-2.0
#include "program/program_work.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"
#include "ir/parser.h"

namespace tessera {
namespace {

const char* const kTwoProducts = R"(module products maths
class first {
  batch %x: fp32[batch=8, d=4]
  state %narrow: fp32[d=4, e=8] parameter zeros
  state %wide: fp32[e=8, f=16] parameter zeros
  %y = matmul(%x, %narrow)
  %z = matmul(%y, %wide)
  return stream %z
}
class head {
  stream %prediction: fp32[batch=8, f=16]
  batch %target: fp32[batch=8, f=16]
  step %label_count: fp64[]
  %count = count_labels(%target) @begin
  %loss = squared_loss(%prediction, %target, %label_count)
  return step label_count %count accumulate
  return step loss %loss accumulate
}
block first = first
block head = head
)";

TEST(ProgramWork, CountsTheMatmulsOfAStepOnceEach) {
  const Compiled compiled = compile(parse_module(kTwoProducts), {.training = false});
  const ProgramWork work = work_of(compiled.programs, "evaluate");
  constexpr double kMatmuls = 2.0 * 8 * 4 * 8 + 2.0 * 8 * 8 * 16;
  EXPECT_GE(work.flops, kMatmuls);
  EXPECT_LE(work.flops, kMatmuls + 10.0 * 8 * 16);  // the loss: a few per element
  EXPECT_EQ(work.recompute_flops, 0);
  EXPECT_EQ(work.matmul_side, 8);  // of the second, which has most of the flops
}

TEST(ProgramWork, MicrobatchesMultiplyIt) {
  const SmallModel model = small_model("Gpt");
  const auto flops = [&](int microbatches) {
    return work_of(compile(model.build(DType::Fp32, 2), {.microbatches = microbatches}).programs,
                   "evaluate")
        .flops;
  };
  EXPECT_DOUBLE_EQ(flops(3), 3 * flops(1));
}

TEST(ProgramWork, WhatTheBackwardRebuildsCountsTwice) {
  const SmallModel model = small_model("Gpt");
  const auto work = [&](Recompute recompute) {
    CompileOptions options;
    options.plan.recompute = recompute;
    return work_of(compile(model.build(DType::Fp32, 2), options).programs, "train_step");
  };
  const ProgramWork kept = work({});
  EXPECT_EQ(kept.recompute_flops, 0);
  for (const RecomputeKind kind : {RecomputeKind::Attention, RecomputeKind::Blocks}) {
    const ProgramWork rebuilt = work({.kind = kind});
    EXPECT_GT(rebuilt.recompute_flops, 0);
    EXPECT_DOUBLE_EQ(rebuilt.flops - rebuilt.recompute_flops, kept.flops);
  }
}

}  // namespace
}  // namespace tessera
