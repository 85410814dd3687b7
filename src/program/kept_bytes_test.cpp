// SPDX-License-Identifier: Apache-2.0
#include "program/kept_bytes.h"

#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "exec/testing/small_models.h"

namespace tessera {
namespace {

// In use by the calls of a step: before the first forward, at most, and after the last backward.
struct InUse {
  int64_t first, most, last;
};

InUse in_use(const char* schedule, RecomputeKind recompute) {
  const Compiled compiled =
      compile(small_model("Gpt").build(DType::Fp32, 1),
              {.plan = make_plan({.mesh = {{"pp", 2}},
                                  .schedule = schedule,
                                  .recompute = {.kind = recompute, .every = 1}},
                                 {}),
               .microbatches = 4});
  const Program& program = compiled.programs.front();
  KeptBytes kept(program);
  InUse result{};
  for (const ScriptCall& call : program.script("train_step").calls) {
    result.last = kept.during(call);
    if (result.first == 0) result.first = result.last;
    result.most = std::max(result.most, result.last);
  }
  return result;
}

TEST(KeptBytes, GrowForwardsAndFallBackwards) {
  for (const char* schedule : {"1f1b", "zb_h1"})
    for (const RecomputeKind recompute : {RecomputeKind::None, RecomputeKind::Blocks}) {
      const InUse step = in_use(schedule, recompute);
      EXPECT_LE(step.last, step.first) << schedule;
      EXPECT_GT(step.most, step.first) << schedule;
    }
}

TEST(KeptBytes, AreFewerWhereBlocksAreRebuilt) {
  const auto grown = [](RecomputeKind recompute) {
    const InUse step = in_use("gpipe", recompute);
    return step.most - step.last;
  };
  EXPECT_LT(grown(RecomputeKind::Blocks), grown(RecomputeKind::None));
}

}  // namespace
}  // namespace tessera
