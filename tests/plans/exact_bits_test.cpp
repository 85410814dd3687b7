// SPDX-License-Identifier: Apache-2.0
// What a plan must give to the bit: sums are rounded to plan.reduce_dtype, neither less nor more,
// and sharded optimizer states are rounded stochastically as whole ones are.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/convert_elements.h"
#include "data/synthetic_batch.h"
#include "exec/mesh_executor.h"
#include "exec/train_step.h"
#include "ir/op_def.h"
#include "ir/op_list.h"
#include "plan_cases.h"

namespace tessera {
namespace {

using enum AxisKind;

std::unique_ptr<MeshExecutor> trained(RunSpec spec, Precision precision, int steps) {
  spec.precision = precision;
  auto mesh = std::make_unique<MeshExecutor>(compile(spec).programs, ExecutorOptions{});
  initialise_states(*mesh, 1);
  for (int step = 1; step <= steps; ++step) {
    write_verification_batch(*mesh, step, {.seed = 1, .vocabulary = spec.model.vocabulary});
    run_train_step(*mesh, {.learning_rate = 1e-3, .step = step});
  }
  return mesh;
}

int64_t gradients_that_need_more_than(DType dtype, const Executor& executor) {
  int64_t count = 0;
  for (const StateBuffer& state : executor.program().states) {
    if (!state.has_gradient()) continue;
    std::vector<std::byte> bytes(static_cast<size_t>(state.gradient_type.bytes()));
    executor.read_gradient(state, bytes);
    for (const double value : to_doubles(state.gradient_type, bytes))
      count += value != (dtype == DType::Bf16 ? to_float(to_bf16(static_cast<float>(value)))
                                              : static_cast<float>(value));
  }
  return count;
}

class ReduceDtype : public testing::TestWithParam<std::tuple<DType, DType, int>> {};

TEST_P(ReduceDtype, IsWhatGradientsAreRoundedToWhenTheyAreSummed) {
  const auto [compute, sums, zero] = GetParam();
  RunSpec spec = PlanCase{.model = "Llama", .axes = {{Dp, 2}}, .zero = zero}.spec();
  EXPECT_GT(gradients_that_need_more_than(sums, *trained(spec, compute, 1)), 0);
  spec.plan.reduce_dtype = sums;
  EXPECT_EQ(gradients_that_need_more_than(sums, *trained(spec, compute, 1)), 0);
}

// How many of the step's collectives of that kind there are; all must be in the dtype.
int64_t expect_dtype(CollectiveOp op, DType dtype, const RunSpec& spec) {
  int64_t found = 0;
  for (const Program& program : compile(spec).programs)
    for (const ProgramClass& each : program.classes)
      for (const std::vector<Instruction>& routine : each.routines)
        for (const Instruction& instruction : routine) {
          const auto* collective = instruction.as<CollectiveInstruction>();
          if (!collective || collective->op != op) continue;
          const Buffer& buffer = each.buffers[static_cast<size_t>(collective->input)];
          if (buffer.type.dims.empty()) continue;  // a count, a loss or a norm
          EXPECT_EQ(buffer.type.dtype, dtype) << buffer.name;
          ++found;
        }
  return found;
}

TEST_P(ReduceDtype, IsThatOfEverySumOverRanks) {
  const auto [compute, sums, zero] = GetParam();
  RunSpec spec = PlanCase{.model = "Mlp", .axes = {{Dp, 2}, {Tp, 2}}, .zero = zero}.spec();
  spec.precision = compute;
  spec.plan.reduce_dtype = sums;
  EXPECT_GT(expect_dtype(CollectiveOp::AllReduce, sums, spec) +
                expect_dtype(CollectiveOp::ReduceScatter, sums, spec),
            0);
}

// Between ops as well: there a stream that is split over the sequence is scattered.
TEST_P(ReduceDtype, IsThatOfASumWhoseSequenceIsSplit) {
  const auto [compute, sums, zero] = GetParam();
  RunSpec spec =
      PlanCase{
          .model = "Llama", .axes = {{Dp, 2}, {Tp, 2}}, .zero = zero, .sequence_parallel = true}
          .spec();
  spec.precision = compute;
  spec.plan.reduce_dtype = sums;
  EXPECT_GT(expect_dtype(CollectiveOp::ReduceScatter, sums, spec), 0);
}

std::string name_of(const testing::TestParamInfo<ReduceDtype::ParamType>& instance) {
  const auto [compute, sums, zero] = instance.param;
  return fmt::format("{}_sums_in_{}_zero{}", name(compute), name(sums), zero);
}

INSTANTIATE_TEST_SUITE_P(, ReduceDtype,
                         testing::Values(std::tuple(DType::Fp32, DType::Bf16, 0),
                                         std::tuple(DType::Fp32, DType::Bf16, 2),
                                         std::tuple(DType::Fp32, DType::Bf16, 3),
                                         std::tuple(DType::Fp64, DType::Fp32, 1)),
                         name_of);

TEST(PureBf16, RoundsShardedStatesByTheSameChanceAsWholeOnes) {
  constexpr int kSteps = 3;
  const Precision pure(DType::Bf16, /*is_pure=*/true);
  for (const OptimizerDef& optimizer : optimizers()) {
    const auto with_zero = [&](int zero) {
      RunSpec spec = PlanCase{.model = "Llama", .axes = {{Dp, 2}}, .zero = zero}.spec();
      spec.optimizer.op = optimizer.op;
      return trained(spec, pure, kSteps);
    };
    const auto whole = with_zero(0), sharded = with_zero(1);
    for (const StateBuffer& state : whole->program().states) {
      const StateBuffer* other = sharded->program().find_state(state.name);
      ASSERT_TRUE(other) << state.name;
      EXPECT_EQ(state.type.dtype, state.spec.role == StateRole::Average ? DType::Fp32 : DType::Bf16)
          << state.name;
      std::vector<std::byte> wanted(static_cast<size_t>(state.type.bytes())), got(wanted.size());
      whole->read_state(state, wanted);
      sharded->read_state(*other, got);
      EXPECT_EQ(got, wanted) << name(optimizer.op) << " " << state.name;
    }
  }
}

}  // namespace
}  // namespace tessera
