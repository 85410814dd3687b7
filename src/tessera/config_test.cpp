// SPDX-License-Identifier: Apache-2.0
// A model that a program brings: it goes where a model of a family goes, and its config never
// passes for another's.
#include "tessera/config.h"

#include <gtest/gtest.h>

#include "config/compile_step.h"
#include "core/testing/user_error_of.h"
#include "models/model_size.h"
#include "tessera/testing/own_models.h"

namespace tessera {
namespace {

std::string refusal_of(const OwnModel& model, const std::vector<std::string>& overrides = {}) {
  return user_error_of([&] { resolve(load_config(model, {}, overrides)); });
}

TEST(OwnModels, HaveTheSizesOfTheirMaths) {
  const RunSpec spec = resolve(load_config(own_attention(), {}, {"train.seq=12"}));
  EXPECT_EQ(spec.model.layers, 3);
  EXPECT_EQ(spec.model.kv_heads, 2);
  EXPECT_EQ(spec.model.heads, 4);
  EXPECT_EQ(spec.model.vocabulary, 31);
  EXPECT_EQ(spec.tokens_per_step(), 16 * 12);
  // The tables of both ends are one.
  EXPECT_EQ(parameter_count(spec.model), 31 * 16 + 16 + 3 * (16 + 2 * 16 * 16 + 2 * 16 * 8));
}

TEST(OwnModels, CountTheFlopsThatAFamilyCounts) {
  const RunSpec spec = resolve(load_config(own_attention(), {}, {"train.seq=12"}));
  const double weights = 31 * 16 + 3 * (2 * 16 * 16 + 2 * 16 * 8);
  const double keys = 3.0 * 3 * 4 * (4 + 4) * 12;  // layers, heads, of both sizes, tokens
  EXPECT_EQ(flops_per_token(spec.model, 12).causal, 6 * weights + keys);
  EXPECT_EQ(flops_per_token(spec.model, 12).full, 6 * weights + 2 * keys);
}

TEST(OwnModels, AreCompiledForEveryMesh) {
  for (const char* mesh : {"dp=2", "tp=4", "pp=2", "fsdp=2,tp=2", "cp=2"}) {
    const RunSpec spec = resolve(
        load_config(own_attention(), {}, {std::string("mesh=") + mesh, "train.microbatches=2"}));
    EXPECT_EQ(compile(spec).programs.front().mesh.num_ranks(), spec.plan.mesh.num_ranks()) << mesh;
  }
}

TEST(OwnModels, RefuseMeshesThatTheirDimsDoNotFit) {
  EXPECT_NE(refusal_of(own_attention(), {"mesh=tp=3"}).find("cannot shard heads (4) over tp (3)"),
            std::string::npos)
      << refusal_of(own_attention(), {"mesh=tp=3"});
}

TEST(OwnModels, AreNamedInTheConfigOfARun) {
  const Config config = load_config(own_attention());
  const Config read = parse_config(to_toml(config), "config.toml", {});
  EXPECT_EQ(model_name(read), "own_attention");
  EXPECT_NE(user_error_of([&] {
              resolve(read);
            }).find("the model own_attention is a program's own, and this program does not"),
            std::string::npos);
}

TEST(OwnModels, DifferInDigestWhereTheirMathsDo) {
  const auto digest_of = [](const OwnAttention& options) {
    return *find_model_setting(load_config(own_attention(options)), "maths");
  };
  const std::string digest = digest_of({});
  EXPECT_EQ(digest, digest_of({}));
  EXPECT_NE(digest, digest_of({.layers = 4}));
  EXPECT_NE(digest, digest_of({.gelu = false}));
}

TEST(OwnModels, AreNotTakenForThoseOfAnotherConfig) {
  const auto refused = [](const char* setting) { return refusal_of(own_attention(), {setting}); };
  EXPECT_NE(refused("model.name=another").find("is for the model another"), std::string::npos);
  EXPECT_NE(refused("model.maths=0123").find("maths with the digest 0123"), std::string::npos);
  EXPECT_NE(refused("model.width=64").find("model.width is set"), std::string::npos);
  EXPECT_NE(refused("model.preset=tiny").find("is for the model tiny"), std::string::npos);
}

TEST(OwnModels, AreCheckedWhenTheyAreBuilt) {
  EXPECT_NE(refusal_of({}).find("has no name"), std::string::npos);
  EXPECT_NE(refusal_of({.name = "empty"}).find("has no maths"), std::string::npos);
  EXPECT_NE(refusal_of(own_attention({.seq = 7})).find("has seq = 7 in tokens"), std::string::npos);
  EXPECT_NE(refusal_of(own_attention({.compute = DType::Fp64})).find("in fp64, where it was asked"),
            std::string::npos);
  EXPECT_NE(refusal_of(own_attention({.loss = false})).find("returns 0 losses"), std::string::npos);
}

TEST(OwnModels, HaveNoSmallerOnes) {
  const Config config = load_config(own_attention());
  EXPECT_NE(user_error_of([&] { resolve_shrunk(config); }).find("no small one is known"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
