// SPDX-License-Identifier: Apache-2.0
#include "compiler/pass_pipeline.h"

#include <gtest/gtest.h>

#include "compiler/training_pipeline.h"
#include "exec/testing/small_models.h"
#include "ir/op_list.h"
#include "passes/gradient/build_backward.h"
#include "passes/gradient/shard_states.h"
#include "passes/memory/plan_memory.h"
#include "passes/placement/localize.h"

namespace tessera {
namespace {

Module mlp() { return small_model("Mlp").build(DType::Fp32, 2); }

std::string refusal(const PipelineOptions& options) {
  Module module = mlp();
  try {
    training_pipeline({}, {}, {}).run(module, options);
  } catch (const UserError& error) {
    return error.report();
  }
  return "accepted";
}

TEST(PassPipeline, AMisorderedOneFailsBeforeItRuns) {
  PassPipeline pipeline(Form::Maths);
  EXPECT_THROW(pipeline.add(shard_states({})), InternalError);
  pipeline.add(build_backward());
  EXPECT_THROW(pipeline.add(shard_states({})), InternalError);
  pipeline.add(localize({}));
  EXPECT_NO_THROW(pipeline.add(shard_states({})));
}

TEST(PassPipeline, ReportsEachPassWithWhatItCounted) {
  Module module = mlp();
  const std::vector<PassReport> reports = training_pipeline({}, {}, {}).run(module, {});
  ASSERT_EQ(reports.size(), 24u);
  EXPECT_EQ(reports[3].name, "build_backward");
  EXPECT_EQ(reports[5].counts, (PassCounts{{"reshards", 0}}));
  EXPECT_EQ(reports[9].counts.front(), (std::pair<std::string, int64_t>{"fused", 5}));
  EXPECT_EQ(reports[16].counts,
            (PassCounts{{"parameters", 6}, {"bundles", 3}, {"frozen bundles", 0}}));
  EXPECT_EQ(reports[23].counts.front().second, module.scratch_bytes);
}

TEST(PassPipeline, StopsBehindThePassAskedFor) {
  Module module = mlp();
  std::vector<std::string> ran;
  training_pipeline({}, {}, {})
      .run(module, {.stop_after = "propagate_placements",
                    .after_pass = [&](int position, const Pass& pass, const Module&) {
                      ran.push_back(fmt::format("{} {}", position, pass.name));
                    }});
  EXPECT_EQ(ran, (std::vector<std::string>{"1 group_parameters", "2 assign_stages", "3 size_pools",
                                           "4 build_backward", "5 propagate_placements"}));
  EXPECT_EQ(module.form, Form::Step);
}

TEST(PassPipeline, LeavesOutAPassThatIsSwitchedOff) {
  Module module = mlp();
  const auto reports = training_pipeline({}, {}, {}).run(module, {.disabled = {"fuse"}});
  EXPECT_EQ(reports.size(), 23u);
  for (const BlockClass& block_class : module.classes)
    for (const Node& node : block_class.graph.nodes()) EXPECT_NE(node.op, OpKind::matmul_epilogue);
}

TEST(PassPipeline, RefusesToLeaveOutWhatOthersBuildOn) {
  EXPECT_EQ(refusal({.disabled = {"plan_memory"}}),
            "error: pass plan_memory cannot be disabled: later passes need the form that it leaves "
            "(planned)\n");
}

TEST(PassPipeline, NamesThePassesWhenAskedForAnUnknownOne) {
  const std::string help =
      " help: the passes are group_parameters, assign_stages, size_pools, build_backward, "
      "propagate_placements, "
      "localize, count_loads, "
      "use_fp8, recompute, fuse, join_norm_gradients, join_rebuilt_swiglu, quantize_before_gather, "
      "fold_largest_entries, ring_matmuls, offload_activations, shard_states, "
      "gradient_norm, hold_updates, update_parameters, offload_gradients, offload_states, overlap, "
      "plan_memory\n";
  EXPECT_EQ(refusal({.disabled = {"fusion"}}), "error: there is no pass fusion\n" + help);
  EXPECT_EQ(refusal({.stop_after = "plan"}), "error: there is no pass plan\n" + help);
}

TEST(PassPipeline, VerifiesWhatAPassLeaves) {
  PassPipeline pipeline(Form::Maths);
  pipeline.add({.name = "break_types",
                .summary = "",
                .requires_form = Form::Maths,
                .ensures_form = Form::Maths,
                .run = [](Module& module) {
                  Graph& graph = module.classes.front().graph;
                  graph.value(graph.node(0).results[0]).type.dtype = DType::Bf16;
                  return PassCounts{};
                }});
  Module module = mlp();
  EXPECT_THROW(pipeline.run(module, {}), InternalError);
}

}  // namespace
}  // namespace tessera
