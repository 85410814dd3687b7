// SPDX-License-Identifier: Apache-2.0
// Plans whose gathers and scattered sums travel round rings are equal to one rank, and hop.
#include <gtest/gtest.h>

#include "config/compile_step.h"
#include "data/synthetic_batch.h"
#include "exec/mesh_executor.h"
#include "exec/train_step.h"
#include "ir/op_list.h"
#include "plan_cases.h"

namespace tessera {
namespace {

std::vector<PlanCase> plans() {
  using enum AxisKind;
  std::vector<PlanCase> cases{
      {.model = "Llama", .axes = {{Tp, 2}}},
      {.model = "Gpt", .axes = {{Tp, 4}}, .microbatches = 3},
      {.model = "Gpt", .axes = {{Tp, 8}}},
      {.model = "Llama", .axes = {{Tp, 4}}, .microbatches = 3},  // tp.group x tp.kv
      {.model = "Qwen", .axes = {{Tp, 8}}},
      {.model = "Llama", .axes = {{Dp, 2}, {Tp, 2}}, .zero = 1},
      {.model = "Gpt", .axes = {{Fsdp, 2}, {Tp, 4}}, .zero = 3, .microbatches = 3},
      {.model = "Llama", .axes = {{Dp, 2}, {Cp, 2}, {Tp, 2}}},
      {.model = "Gpt", .axes = {{Cp, 2}, {Tp, 4}}, .ulysses = true},
      {.model = "Moe", .axes = {{Ep, 2}, {Tp, 2}}},
      {.model = "DeepSeek", .axes = {{Ep, 2}, {Tp, 4}}, .exchange = true},
      {.model = "Qwen", .axes = {{Pp, 2}, {Tp, 2}}, .microbatches = 4},
      {.model = "Llama", .axes = {{Pp, 2}, {Tp, 2}}, .microbatches = 3, .schedule = "zb_h1"},
      {.model = "Gpt",
       .axes = {{Pp, 2}, {Fsdp, 2}, {Tp, 2}},
       .zero = 3,
       .microbatches = 4,
       .chunks = 2,
       .schedule = "interleaved_1f1b"},
      {.model = "Llama", .axes = {{Tp, 2}}, .offload = "activations", .layers = 4}};
  for (const char* recompute :
       {"cheap", "attention", "block", "sqrt", "fit", "block_keep_attention"})
    cases.push_back({.model = cases.size() % 2 == 0 ? "Gpt" : "Llama",
                     .axes = {{Dp, 2}, {Tp, 2}},
                     .microbatches = 2,
                     .recompute = recompute});
  for (PlanCase& c : cases) c.sequence_parallel = c.in_rings = true;
  return cases;
}

int pieces_taken(const RunSpec& spec) {
  int taken = 0;
  for (const Program& program : compile(spec).programs)
    for (const ProgramClass& program_class : program.classes)
      for (const auto& routine : program_class.routines)
        for (const Instruction& instruction : routine)
          if (const auto* kernel = instruction.as<KernelInstruction>())
            taken += kernel->op == OpKind::join_pieces || kernel->op == OpKind::take_piece;
  return taken;
}

class TpOverlapPlan : public testing::TestWithParam<PlanCase> {
 protected:
  static void expect_equal(const RunSpec& spec) {
    const VerifyReport report = verify_plan(spec, poisoned());
    EXPECT_LE(report.gradient.error, report.gradient.allowed) << report.gradient.name;
    EXPECT_LE(report.parameter.error, report.parameter.allowed) << report.parameter.name;
    EXPECT_EQ(report.replica.error, 0) << report.replica.name;
    EXPECT_TRUE(report.equal());
  }
};

TEST_P(TpOverlapPlan, HopsAndIsEqualToOneRank) {
  EXPECT_GT(pieces_taken(GetParam().spec()), 0);
  expect_equal(GetParam().spec());
}

TEST_P(TpOverlapPlan, IsEqualToOneRankInBf16) {
  RunSpec spec = GetParam().spec();
  spec.precision = DType::Bf16;
  expect_equal(spec);
}

INSTANTIATE_TEST_SUITE_P(Covering, TpOverlapPlan, testing::ValuesIn(plans()),
                         [](const auto& instance) { return instance.param.name(); });

// Gradients of a step, by state.
std::vector<std::vector<std::byte>> gradients(PlanCase plan, Precision precision, bool in_rings) {
  plan.in_rings = in_rings;
  RunSpec spec = plan.spec();
  spec.precision = precision;
  if (precision.fp8) spec.plan.fp8.emplace();
  MeshExecutor mesh(compile(spec).programs, ExecutorOptions{});
  initialise_states(mesh, 1);
  write_verification_batch(mesh, 1, {.seed = 1, .vocabulary = spec.model.vocabulary});
  run_train_step(mesh, {.learning_rate = 1e-3, .step = 1});
  std::vector<std::vector<std::byte>> all;
  for (const StateBuffer& state : mesh.program().states) {
    if (!state.has_gradient()) continue;
    all.emplace_back(static_cast<size_t>(state.gradient_type.bytes()));
    mesh.read_gradient(state, all.back());
  }
  return all;
}

// A sum of two terms is the same in any order, and values are quantised with the scale of the
// whole.
TEST(TpOverlap, OfTwoRanksChangesNoBit) {
  const PlanCase plan{.model = "Gpt", .axes = {{AxisKind::Tp, 2}}, .sequence_parallel = true};
  for (const Precision precision :
       {Precision(DType::Fp64), Precision(DType::Fp32), Precision(DType::Bf16),
        Precision(DType::Bf16, false, /*with_fp8=*/true)})
    EXPECT_EQ(gradients(plan, precision, true), gradients(plan, precision, false))
        << name(precision);
}

TEST(TpOverlap, SendsEightBitsInFp8) {
  RunSpec spec = PlanCase{.model = "Llama",
                          .axes = {{AxisKind::Tp, 4}},
                          .sequence_parallel = true,
                          .in_rings = true}
                     .spec();
  spec.precision = Precision(DType::Bf16, false, true);
  spec.plan.fp8.emplace();
  int hops = 0, of_bytes = 0;
  for (const Program& program : compile(spec).programs)
    for (const ProgramClass& each : program.classes)
      for (const Instruction& instruction : each.routine(RoutineKind::Forward))
        if (const auto* hop = instruction.as<CollectiveInstruction>();
            hop && hop->op == CollectiveOp::Shift) {
          ++hops;
          of_bytes += size_bytes(each.buffers[static_cast<size_t>(hop->input)].type.dtype) == 1;
        }
  EXPECT_GT(of_bytes, 0);
  EXPECT_LT(of_bytes, hops);  // sums travel as they are
}

TEST(TpOverlap, ChangesNothingWithoutSequenceParallelism) {
  EXPECT_EQ(pieces_taken(
                PlanCase{.model = "Llama", .axes = {{AxisKind::Tp, 2}}, .in_rings = true}.spec()),
            0);
}

}  // namespace
}  // namespace tessera
