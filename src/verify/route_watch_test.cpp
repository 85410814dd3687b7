// SPDX-License-Identifier: Apache-2.0
#include "verify/route_watch.h"

#include <gtest/gtest.h>

#include <set>

#include "config/config.h"
#include "ir/op_list.h"
#include "verify/verify_plan.h"

namespace tessera {
namespace {

RunSpec spec_of(std::vector<std::string> settings, DType precision = DType::Fp64) {
  settings.insert(settings.begin(), "model.preset=tiny-moe");
  RunSpec spec = resolve_shrunk(load_config(std::nullopt, settings));
  spec.precision = precision;
  return spec;
}

int64_t routes_of(const RunSpec& spec, const VerifyOptions& options) {
  const ModelConfig& model = spec.model;
  return options.steps * spec.tokens_per_step() * model.top_k * (model.layers - model.dense_layers);
}

TEST(ForcedChoice, IsOfDifferentExpertsAndReachesAll) {
  std::set<int32_t> reached;
  for (int64_t token = 0; token < 50; ++token) {
    std::vector<int32_t> chosen(3), again(3);
    forced_choice("layer.1", token, 7, chosen);
    forced_choice("layer.1", token, 7, again);
    EXPECT_EQ(chosen, again);
    EXPECT_EQ(std::set<int32_t>(chosen.begin(), chosen.end()).size(), 3);
    reached.insert(chosen.begin(), chosen.end());
  }
  EXPECT_EQ(reached, (std::set<int32_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(ForcedChoice, DiffersBetweenLayersAndTokens) {
  std::vector<int32_t> chosen(2), other(2);
  int layers = 0, tokens = 0;
  for (int64_t token = 0; token < 40; ++token) {
    forced_choice("layer.0", token, 8, chosen);
    forced_choice("layer.1", token, 8, other);
    layers += chosen != other;
    forced_choice("layer.0", token + 1, 8, other);
    tokens += chosen != other;
  }
  EXPECT_GT(layers, 30);
  EXPECT_GT(tokens, 30);
}

// Copies of tokens (tp), tokens in the order of a ring, microbatches and what is computed again are
// counted once.
TEST(RouteWatch, CountsEveryRouteOnceOnEveryMesh) {
  const std::vector<std::vector<std::string>> plans{
      {"mesh=dp=2,tp=2"},
      {"mesh=ep=2,tp=2", "plan.sequence_parallel=true"},
      {"mesh=cp=2,ep=2", "train.microbatches=2"},
      {"mesh=pp=2,ep=2", "train.microbatches=4", "plan.recompute=block", "model.dense_layers=1"}};
  for (const bool forced : {false, true})
    for (const std::vector<std::string>& plan : plans) {
      const RunSpec spec = spec_of(plan);
      const VerifyOptions options{.force_routes = forced};
      const VerifyReport report = verify_plan(spec, options);
      EXPECT_TRUE(report.equal()) << plan[0];
      EXPECT_EQ(report.routes.off, 0) << plan[0];
      EXPECT_EQ(report.routes.routes, routes_of(spec, options)) << plan[0];
      EXPECT_EQ(report.router.known(), !forced) << plan[0];
    }
}

// Where routers choose, rounding to 8 bits sends some tokens elsewhere.
TEST(RouteWatch, ForcesTheSameChoicesInEveryPrecision) {
  for (const DType precision : {DType::Fp32, DType::Bf16})
    for (const char* mesh : {"mesh=ep=2,tp=2", "mesh=cp=2,ep=2"}) {
      const VerifyReport report = verify_plan(spec_of({mesh}, precision), {.force_routes = true});
      EXPECT_TRUE(report.equal()) << mesh << " in " << name(precision) << ", " << report.loss.error;
      EXPECT_EQ(report.routes.off, 0);
      EXPECT_FALSE(report.tied());
    }
}

// With groups of which one is kept, a token whose two best experts are of both goes elsewhere.
void choose_from_half_of_the_experts(int, Program& program) {
  for (ProgramClass& program_class : program.classes)
    for (std::vector<Instruction>& routine : program_class.routines)
      for (Instruction& instruction : routine)
        if (auto* kernel = instruction.as<KernelInstruction>();
            kernel && kernel->op == OpKind::route)
          kernel->attributes.set("groups", int64_t{2});
}

TEST(RouteWatch, FindsRoutesThatGoElsewhere) {
  const VerifyReport report = verify_plan(
      spec_of({"mesh=ep=2"}), {.steps = 1, .change_program = choose_from_half_of_the_experts});
  EXPECT_FALSE(report.equal());
  EXPECT_FALSE(report.undecided());
  EXPECT_GT(report.routes.off, 0);
  EXPECT_EQ(report.routes.place, "layer.0, step 1");
}

TEST(RouteWatch, DoesNotJudgeCountsWhereRoutersTie) {
  VerifyReport report = verify_plan(spec_of({"mesh=ep=2"}), {.steps = 1});
  report.routes.off = 2;
  EXPECT_FALSE(report.equal());
  report.router.gap = 0;
  EXPECT_TRUE(report.equal());
}

}  // namespace
}  // namespace tessera
