// SPDX-License-Identifier: Apache-2.0
#include "mesh/plan.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

TEST(MakePlan, UsualListsOfDimsByAxis) {
  const Plan plan =
      make_plan({.mesh = {{"dp", 2}, {"fsdp", 2}, {"ep", 2}, {"cp", 2}, {"tp", 4}}, .zero = 1}, {});
  EXPECT_EQ(plan.dims, (std::vector<Names>{
                           {"batch", "slot"},
                           {"batch", "slot"},
                           {"expert", "batch"},
                           {"seq", "slot"},
                           {"kv_heads", "group", "mlp", "vocab", "shared_mlp", "expert_mlp"}}));
  EXPECT_TRUE(plan.own_dims.empty());
  EXPECT_FALSE(plan.single());
}

TEST(MakePlan, SequenceParallelPutsSeqBehindTheDimsOfTp) {
  const Plan plan = make_plan({.mesh = {{"dp", 2}, {"tp", 2}}, .sequence_parallel = true}, {});
  EXPECT_EQ(plan.dims[0], (Names{"batch", "slot"}));
  EXPECT_EQ(plan.dims[1],
            (Names{"kv_heads", "group", "mlp", "vocab", "shared_mlp", "expert_mlp", "seq"}));
}

TEST(MakePlan, AxesStandInTheUsersOrder) {
  const Plan plan = make_plan({.mesh = {{"tp", 2}, {"dp", 3}}}, {});
  EXPECT_EQ(plan.mesh.group(0, {plan.mesh.find("dp")}), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(plan.dims[0].front(), "kv_heads");
}

TEST(MakePlan, KeyValueHeadsThatTpDividesLeaveTheAxisWhole) {
  for (const int kv_heads : {0, 4, 8, 12}) {
    const Plan plan = make_plan({.mesh = {{"tp", 4}}}, {.kv_heads = kv_heads});
    EXPECT_EQ(plan.mesh.axes(), (std::vector<Axis>{{"tp", 4}}));
  }
}

TEST(MakePlan, FewerKeyValueHeadsThanTpSplitTheAxisInTwo) {
  const Plan plan =
      make_plan({.mesh = {{"dp", 2}, {"tp", 8}}, .sequence_parallel = true}, {.kv_heads = 2});
  EXPECT_EQ(plan.mesh.axes(), (std::vector<Axis>{{"dp", 2}, {"tp.group", 4}, {"tp.kv", 2}}));
  EXPECT_EQ(plan.dims[1], (Names{"group", "mlp", "vocab", "shared_mlp", "expert_mlp", "seq"}));
  EXPECT_EQ(plan.dims[2], (Names{"kv_heads", "mlp", "vocab", "shared_mlp", "expert_mlp", "seq"}));
}

TEST(MakePlan, KvHeadsTakeTheirLargestCommonDivisorWithTp) {
  EXPECT_EQ(make_plan({.mesh = {{"tp", 4}}}, {.kv_heads = 6}).mesh.axes(),
            (std::vector<Axis>{{"tp.group", 2}, {"tp.kv", 2}}));
  EXPECT_EQ(make_plan({.mesh = {{"tp", 4}}}, {.kv_heads = 1}).mesh.axes(),
            (std::vector<Axis>{{"tp.group", 4}, {"tp.kv", 1}}));
}

TEST(MakePlan, ExpertsAreSplitOverEpUnlessThePlanNamesOtherAxes) {
  const auto dims = [](Names experts) {
    return make_plan({.mesh = {{"ep", 2}, {"cp", 2}, {"tp", 2}}, .experts = std::move(experts)}, {})
        .dims;
  };
  const Names inside{"kv_heads", "group", "mlp", "vocab", "shared_mlp", "expert_mlp"},
      folded{"expert", "kv_heads", "group", "mlp", "vocab", "shared_mlp"};
  EXPECT_EQ(dims({"ep"}), (std::vector<Names>{{"expert", "batch"}, {"seq", "slot"}, inside}));
  EXPECT_EQ(dims({"ep", "tp"}), (std::vector<Names>{{"expert", "batch"}, {"seq", "slot"}, folded}));
  EXPECT_EQ(dims({"cp", "tp"}), (std::vector<Names>{{"batch", "slot"}, {"expert", "seq"}, folded}));
}

TEST(MakePlan, OpsThatMoveRowsSplitNothingButExpertsWhereThoseAreSplit) {
  const Plan plan = make_plan({.mesh = {{"dp", 2}, {"ep", 2}}}, {.experts = 4});
  bool own = false;
  EXPECT_EQ(plan.dims_of(1, "dispatch", own), Names{"expert"});
  EXPECT_TRUE(own);
  EXPECT_EQ(plan.dims_of(0, "dispatch", own), (Names{"batch", "slot"}));
  EXPECT_FALSE(own);
  EXPECT_EQ(plan.dims_of(1, "matmul", own), (Names{"expert", "batch"}));
}

TEST(MakePlan, RowsAreExchangedWhereThatSendsLessAndThePlanLeavesItOpen) {
  const auto exchanges = [](int ranks, int64_t top_k, Names experts = {"ep"}) {
    const Plan plan = make_plan({.mesh = {{"ep", ranks}, {"tp", 2}},
                                 .experts = std::move(experts),
                                 .dispatch = DispatchKind::Auto},
                                {.experts = 16, .top_k = top_k});
    bool own = false;
    return plan.dims_of(0, "dispatch", own) == Names{"batch", "slot"};
  };
  EXPECT_FALSE(exchanges(2, 2));
  EXPECT_TRUE(exchanges(4, 2));
  EXPECT_FALSE(exchanges(4, 8));
  EXPECT_FALSE(exchanges(4, 2, {"ep", "tp"})) << "tp splits no tokens";
}

TEST(MakePlan, StatesAreShardedOverFsdpElseOverDpAndOverEp) {
  const auto shard_axes = [](std::vector<Axis> mesh, int zero,
                             std::vector<std::string> asked = {}) {
    return make_plan({.mesh = std::move(mesh), .zero = zero, .shard_axes = std::move(asked)}, {})
        .shard_axes;
  };
  EXPECT_EQ(shard_axes({{"dp", 2}, {"fsdp", 2}}, 3), AxisIds{1});
  EXPECT_EQ(shard_axes({{"dp", 2}, {"fsdp", 1}}, 3), AxisIds{0});
  EXPECT_EQ(shard_axes({{"tp", 2}, {"dp", 2}}, 1), AxisIds{1});
  EXPECT_EQ(shard_axes({{"dp", 2}}, 0), AxisIds{});
  EXPECT_EQ(shard_axes({{"dp", 1}, {"fsdp", 1}}, 3), AxisIds{});
  EXPECT_EQ(shard_axes({{"fsdp", 2}, {"cp", 2}}, 3), AxisIds{0});
  EXPECT_EQ(shard_axes({{"fsdp", 2}, {"cp", 2}}, 3, {"cp", "fsdp"}), (AxisIds{0, 1}));
  EXPECT_EQ(shard_axes({{"dp", 2}, {"cp", 1}}, 1, {"dp", "cp"}), AxisIds{0});
  EXPECT_EQ(shard_axes({{"tp", 2}, {"cp", 4}}, 1, {"cp"}), AxisIds{1});
  EXPECT_EQ(shard_axes({{"ep", 2}}, 1), AxisIds{0});
  EXPECT_EQ(shard_axes({{"ep", 2}, {"dp", 2}}, 1), (AxisIds{0, 1}));
  EXPECT_EQ(shard_axes({{"dp", 2}, {"fsdp", 2}, {"ep", 2}}, 3), (AxisIds{1, 2}));
  EXPECT_EQ(shard_axes({{"dp", 2}, {"ep", 2}}, 1, {"dp"}), AxisIds{0});
}

std::string refusal(const PlanRequest& request, const PlanSizes& sizes = {}) {
  try {
    make_plan(request, sizes);
  } catch (const UserError& error) {
    return error.message();
  }
  return "accepted";
}

TEST(MakePlan, ShardsAllWhereTheMeshHasFsdpAndNothingIsAsked) {
  const auto zero = [](std::vector<Axis> mesh) {
    return make_plan({.mesh = std::move(mesh)}, {}).zero;
  };
  EXPECT_EQ(zero({{"dp", 2}, {"fsdp", 2}}), 3);
  EXPECT_EQ(zero({{"dp", 2}, {"fsdp", 1}}), 0);
  EXPECT_EQ(zero({{"dp", 2}, {"tp", 2}}), 0);
  EXPECT_EQ(zero({}), 0);
}

TEST(MakePlan, RefusesToShardWhereNoAxisCan) {
  EXPECT_EQ(refusal({.mesh = {{"tp", 2}}, .zero = 3}),
            "plan.zero = 3 shards states over dp, fsdp or ep, but the mesh tp=2 has none of them");
  EXPECT_EQ(refusal({.mesh = {{"dp", 1}, {"cp", 4}}, .zero = 1}),
            "plan.zero = 1 shards states over dp, fsdp or ep, but the mesh cp=4 has none of them");
  EXPECT_EQ(refusal({.mesh = {{"dp", 1}}, .zero = 3}), "accepted");
}

TEST(MakePlan, ARingPermutesTheSequenceAndUlyssesSplitsHeadsInstead) {
  const Plan ring = make_plan({.mesh = {{"cp", 4}}}, {});
  EXPECT_EQ(ring.zigzag, 4);
  EXPECT_TRUE(ring.own_dims.empty());
  const Plan ulysses = make_plan({.mesh = {{"cp", 4}}, .context = ContextKind::Ulysses}, {});
  EXPECT_EQ(ulysses.zigzag, 1);
  bool own = false;
  EXPECT_EQ(ulysses.dims_of(0, "attention", own), Names{"kv_heads"});
  EXPECT_TRUE(own);
  EXPECT_EQ(ulysses.dims_of(0, "attention_grad", own), Names{"kv_heads"});
  EXPECT_TRUE(own);
  EXPECT_EQ(ulysses.dims_of(0, "matmul", own), (Names{"seq", "slot"}));
  EXPECT_FALSE(own);
  EXPECT_TRUE(
      make_plan({.mesh = {{"cp", 1}}, .context = ContextKind::Ulysses}, {}).own_dims.empty());
}

TEST(MakePlan, TheUsersOwnListReplacesTheUsualOne) {
  const Plan plan = make_plan({.mesh = {{"dp", 2}, {"tp", 2}}, .dims = {{"tp", {"mlp"}}}}, {});
  EXPECT_EQ(plan.dims, (std::vector<Names>{{"batch", "slot"}, {"mlp"}}));
}

TEST(MakePlan, TheUsersOwnListForTpServesBothOfItsParts) {
  const Plan plan = make_plan({.mesh = {{"tp", 4}}, .dims = {{"tp", {"group", "kv_heads", "mlp"}}}},
                              {.kv_heads = 2});
  EXPECT_EQ(plan.dims, (std::vector<Names>{{"group", "mlp"}, {"kv_heads", "mlp"}}));
}

TEST(MakePlan, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal({.mesh = {{"rows", 2}}}), "mesh axis rows is not known");
  EXPECT_EQ(refusal({.mesh = {{"fsd", 2}}}), "mesh axis fsd is not known: did you mean fsdp?");
  EXPECT_EQ(refusal({.mesh = {{"dp", 0}}}), "mesh axis dp has size 0: use 1 or more");
  EXPECT_EQ(refusal({.mesh = {{"dp", 2}, {"dp", 2}}}), "mesh axis dp is given twice");
  EXPECT_EQ(refusal({.mesh = {{"dp", 2}}, .zero = 4}),
            "plan.zero is 4, but must be auto, 0, 1, 2 or 3");
  EXPECT_EQ(refusal({.mesh = {{"dp", 2}}, .zero = -1}),
            "plan.zero is -1, but must be auto, 0, 1, 2 or 3");
  EXPECT_EQ(refusal({.mesh = {{"dp", 2}, {"tp", 2}}, .zero = 1, .shard_axes = {"dp", "tp"}}),
            "plan.shard_axes names tp, along which ranks do not hold the same parameters");
  EXPECT_EQ(refusal({.mesh = {{"fsdp", 2}}, .shard_axes = {"fsdp", "fsdp"}}),
            "plan.shard_axes names an axis twice");
  EXPECT_EQ(refusal({.mesh = {{"ep", 2}}, .experts = {"ep", "fsdp"}}),
            "plan.experts names fsdp, which cannot split experts");
  EXPECT_EQ(refusal({.mesh = {{"ep", 2}, {"dp", 2}}}, {.experts = 4}),
            "mesh ep=2,dp=2 has ep before dp, and tokens are gathered for experts over ep");
  EXPECT_EQ(refusal({.mesh = {{"ep", 2}, {"dp", 2}}}), "accepted");
  EXPECT_EQ(refusal({.mesh = {{"ep", 2}, {"cp", 2}}}, {.experts = 4}), "accepted");
  EXPECT_EQ(refusal({.mesh = {{"fsdp", 2}, {"cp", 2}}, .shard_axes = {"cp"}}),
            "mesh fsdp = 2 shards states, but plan.shard_axes leaves it out");
  EXPECT_EQ(refusal({.mesh = {{"cp", 2}}, .shard_axes = {"cp"}}),
            "plan.shard_axes shards states over cp, but plan.zero = 0 keeps them whole");
  EXPECT_EQ(refusal({.mesh = {{"fsdp", 4}}, .zero = 0}),
            "mesh fsdp = 4 shards states, but plan.zero = 0 keeps them whole");
  EXPECT_EQ(refusal({.mesh = {{"fsdp", 1}}}), "accepted");
  EXPECT_EQ(refusal({.mesh = {{"dp", 2}}, .dims = {{"tp", {"mlp"}}}}),
            "plan.dims names axis tp, which the mesh does not have");
}

TEST(MakePlan, RefusesHeadsThatTpDoesNotDivide) {
  const PlanSizes sizes{.kv_heads = 4, .heads = 12};
  for (const int tp : {1, 2, 3, 4, 6, 12})
    EXPECT_EQ(refusal({.mesh = {{"tp", tp}}}, sizes), "accepted") << tp;
  for (const int tp : {5, 8, 9, 24})
    EXPECT_EQ(refusal({.mesh = {{"tp", tp}}}, sizes),
              fmt::format("cannot shard heads (12) over tp ({})", tp));
  EXPECT_EQ(refusal({.mesh = {{"tp", 5}}, .dims = {{"tp", {"mlp"}}}}, sizes), "accepted");
}

TEST(MakePlan, RefusesUlyssesWithTooFewKeyValueHeads) {
  const auto ulysses = [](int tp, int cp) {
    return refusal({.mesh = {{"cp", cp}, {"tp", tp}}, .context = ContextKind::Ulysses},
                   {.kv_heads = 4, .heads = 12});
  };
  EXPECT_EQ(ulysses(1, 4), "accepted");
  EXPECT_EQ(ulysses(2, 2), "accepted");
  EXPECT_EQ(ulysses(6, 2), "accepted");
  EXPECT_EQ(ulysses(2, 4), "cannot shard kv_heads (4) over tp (2) x cp (4) by ulysses");
  EXPECT_EQ(ulysses(1, 3), "cannot shard kv_heads (4) over cp (3) by ulysses");
}

TEST(ParseMesh, ReadsAxesInOrder) {
  EXPECT_EQ(parse_mesh("dp=2,tp=16"), (std::vector<Axis>{{"dp", 2}, {"tp", 16}}));
  EXPECT_EQ(parse_mesh("tp=4"), (std::vector<Axis>{{"tp", 4}}));
  EXPECT_EQ(parse_mesh(""), std::vector<Axis>{});
}

TEST(ParseMesh, RefusesWhatIsNoListOfSizes) {
  for (const char* text : {"dp", "dp=", "dp=two", "dp=2x", "dp=2,,tp=2", "dp:2", "=", "2",
                           "dp=99999999999", "dp=2 tp=2", "=2", "dp=2,tp=2,dp=2"})
    EXPECT_THROW(parse_mesh(text), UserError) << text;
}

}  // namespace
}  // namespace tessera
