// SPDX-License-Identifier: Apache-2.0
#include "config/run_spec.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/compile_step.h"
#include "config/config_fields.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

Config config_with(const std::vector<std::string>& settings) {
  return parse_config("", "test", settings);
}

TEST(RunSpec, HasWhatTheConfigSaysAsValues) {
  const RunSpec spec = resolve(config_with(
      {"model.preset=gpt2-124m", "train.batch=12", "train.microbatches=3", "train.seq=64",
       "train.precision=fp8", "train.beta1=0.8", "train.seed=5", "mesh=pp=2,cp=2",
       "plan.context=ulysses", "plan.recompute=every", "plan.recompute_every=2", "plan.memory=2KB",
       "plan.schedule=gpipe", "run.device=cuda", "train.repeatable=false"}));
  EXPECT_EQ(spec.model.layers, 12);
  EXPECT_EQ(spec.precision, Precision(DType::Bf16, false, true));
  EXPECT_TRUE(spec.plan.fp8);
  EXPECT_EQ(spec.microbatch, (BatchShape{.batch = 4, .seq = 64}));
  EXPECT_EQ(spec.batch(), 12);
  EXPECT_EQ(spec.tokens_per_step(), 12 * 64);
  EXPECT_EQ(spec.optimizer.settings.at("beta1"), 0.8);
  EXPECT_EQ(spec.optimizer.rounding_seed, 5);
  EXPECT_EQ(to_string(spec.plan.mesh), "pp=2,cp=2");
  EXPECT_FALSE(spec.plan.own_dims.empty());  // of ulysses
  EXPECT_EQ(spec.plan.recompute.kind, RecomputeKind::Blocks);
  EXPECT_EQ(spec.plan.recompute.every, 2);
  EXPECT_EQ(spec.plan.schedule, "gpipe");
  EXPECT_EQ(spec.memory_bytes, 2000);
  EXPECT_EQ(spec.device, DeviceKind::Cuda);
  EXPECT_FALSE(spec.repeatable);
}

TEST(RunSpec, SharesTheThreadsOfTheMachineAmongItsRanks) {
  const std::vector<std::string> four{"mesh=dp=4", "train.threads=10"};
  EXPECT_EQ(resolve(config_with(four)).threads_per_rank(), 2);
  EXPECT_EQ(resolve(config_with({"mesh=dp=4", "train.threads=3"})).threads_per_rank(), 1);
  EXPECT_EQ(resolve(config_with({"train.threads=3"})).threads_per_rank(), 3);
  EXPECT_EQ(resolve(config_with({"train.threads=3", "run.device=cuda"})).threads_per_rank(), 1);
  EXPECT_EQ(compile(resolve(config_with(four)), {.check = false}).program().threads, 2);
}

TEST(RunSpec, LeavesTheDispatchOpenOnCpusAlone) {
  const auto sorted_by = [](const char* device) {
    const RunSpec spec =
        resolve(config_with({"model.preset=tiny-moe", "mesh=ep=4", "plan.dispatch=auto",
                             fmt::format("run.device={}", device)}));
    bool own = false;
    return spec.plan.dims_of(0, "order_routes", own).front();
  };
  EXPECT_EQ(sorted_by("cpu"), "batch");    // rows are exchanged
  EXPECT_EQ(sorted_by("cuda"), "expert");  // tokens are gathered
}

TEST(RunSpec, TakesSnapshotsInARanksMemoryWhereThatIsTheHosts) {
  EXPECT_FALSE(resolve(config_with({})).snapshots);
  EXPECT_TRUE(resolve(config_with({"checkpoint.every=5"})).snapshots);
  EXPECT_FALSE(resolve(config_with({"checkpoint.every=5", "run.device=cuda"})).snapshots);
}

TEST(RunSpec, RefusesShapesThatThePlanDoesNotFitUnlessTheModelShrinks) {
  const Config config =
      config_with({"model.preset=llama3-8b", "mesh=cp=4", "train.seq=100", "train.batch=1"});
  EXPECT_EQ(user_error_of([&] { resolve(config); }),
            "cannot cut a sequence of 100 into 8 chunks for a ring of 4 ranks");
  const RunSpec small = resolve_shrunk(config);
  EXPECT_LT(small.model.width, 100);
  EXPECT_EQ(small.seq() % 8, 0);
}

TEST(RunSpec, OfAnMlpCountsRows) {
  EXPECT_EQ(resolve(config_with({"model.preset=mlp", "train.batch=32"})).tokens_per_step(), 32);
}

TEST(RunSpec, WithoutAMeshKeepsRecomputationAlone) {
  const Config config = config_with({"mesh=dp=2,tp=2", "plan.zero=1", "plan.dims.tp=mlp",
                                     "plan.recompute=block", "plan.memory=8GB"});
  const RunSpec alone = resolve(with_mesh(config, {}));
  EXPECT_TRUE(alone.plan.single());
  EXPECT_EQ(alone.plan.zero, 0);
  EXPECT_EQ(alone.memory_bytes, 0);
  EXPECT_EQ(alone.plan.recompute.kind, RecomputeKind::Blocks);
  EXPECT_EQ(resolve(with_mesh(config, {{"dp", 4}, {"tp", 2}})).plan.zero, 1);
}

// Names stand beside their enums: one too few or too many would shift the rest.
TEST(ConfigChoices, AreReadBackAsWhatTheyWere) {
  int found = 0;
  Config defaults;
  for (const ConfigField& field : config_fields(defaults)) {
    if (!std::holds_alternative<uint8_t*>(field.value)) continue;
    for (const std::string_view choice : std::get<Choices>(field.allowed)) {
      Config config;
      const std::vector<ConfigField> fields = config_fields(config);
      const auto own = std::find_if(fields.begin(), fields.end(),
                                    [&](const ConfigField& each) { return each.key == field.key; });
      set_field(*own, std::string(choice), "");
      EXPECT_EQ(field_text(*own), choice) << field.key;
      ++found;
    }
  }
  EXPECT_EQ(found, 7 + 5 + 3 + 2 + 4 + 3 + 2 + 3 + 3 + 2 + 2 + 3);
  EXPECT_EQ(name(config_with({"data.path=x.bin"}).data.source), "tokens");
  EXPECT_EQ(config_with({"train.on_non_finite=rewind"}).train.on_non_finite, OnNonFinite::Rewind);
  EXPECT_EQ(config_with({"data.packing=best_fit", "data.document_mask=true"}).data.packing,
            Packing::BestFit);
}

TEST(ModelTitle, IsThePresetAndWhatIsSetOverIt) {
  const auto title = [](const std::vector<std::string>& settings) {
    return model_title(parse_config("", "test", settings));
  };
  EXPECT_EQ(title({"model.preset=gpt2-124m"}), "gpt2-124m");
  EXPECT_EQ(title({"model.preset=tiny", "model.layers=2"}),
            "tiny with layers=2 (0.000459B parameters)");
  EXPECT_EQ(title({"model.preset=tiny", "lora.rank=4"}),
            "tiny with lora.rank=4 (0.000892B parameters)");
}

}  // namespace
}  // namespace tessera
