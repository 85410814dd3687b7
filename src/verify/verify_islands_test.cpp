// SPDX-License-Identifier: Apache-2.0
#include "verify/verify_islands.h"

#include <gtest/gtest.h>

#include "verify/testing/island_case.h"

namespace tessera {
namespace {

void expect_equal(const IslandCase& given) {
  const IslandRun run = run_of(given);
  const VerifyIslandsReport report = verify_islands(run.spec, run.options);
  for (const WorstError* worst :
       {&report.loss, &report.grad_norm, &report.gradient, &report.parameter, &report.combined})
    EXPECT_TRUE(worst->is_allowed())
        << given.mesh << ": " << worst->name << " is off by " << worst->error;
  EXPECT_GE(report.exchanges, 2) << given.mesh;
}

TEST(VerifyIslands, AreEqualWhateverMeshTheyHave) {
  for (const char* mesh : {"island=1", "island=2", "island=3", "island=2,dp=2", "island=2,tp=2",
                           "island=2,fsdp=2,tp=2", "island=2,cp=2"})
    expect_equal({.mesh = mesh});
  expect_equal({.mesh = "island=2,pp=2", .settings = {"train.microbatches=3"}});
  expect_equal({.mesh = "island=2,ep=2", .settings = {"model.preset=tiny-moe"}});
  expect_equal({.mesh = "island=2,tp=2", .settings = {"model.preset=gpt2-124m"}});
}

TEST(VerifyIslands, AreEqualHoweverTheyExchange) {
  const std::string streamed = "islands.fragments=3";
  expect_equal({.settings = {"islands.outer_optimizer=average"}});
  expect_equal({.settings = {"islands.outer_momentum=0", "islands.outer_learning_rate=1"}});
  expect_equal({.settings = {"islands.every=1"}});
  expect_equal({.settings = {"islands.wire=int8"}});
  expect_equal({.settings = {"islands.wire=int4"}});
  expect_equal({.settings = {"islands.every=4", streamed}});
  expect_equal({.settings = {"islands.every=4", "islands.delay=3"}});
  expect_equal({.mesh = "island=3,dp=2",
                .settings = {"islands.every=5", streamed, "islands.delay=2", "islands.wire=int8"}});
}

TEST(VerifyIslands, AreEqualForEveryOptimizer) {
  for (const char* optimizer : {"sgd", "lion", "muon"})
    expect_equal({.settings = {std::string("train.optimizer=") + optimizer}});
  expect_equal({.settings = {"train.ema_decay=0.9"}});
}

TEST(VerifyIslands, ALateJoinerBeginsWithTheNewestWeights) {
  expect_equal({.mesh = "island=3", .late_after = 2});
  expect_equal({.mesh = "island=3",
                .settings = {"islands.fragments=2", "train.ema_decay=0.9"},
                .late_after = 3});
}

TEST(VerifyIslands, TheRhythmIsAsShortAsItsPartsNeed) {
  const Config config =
      parse_config("", "test",
                   std::vector<std::string>{"mesh=island=2", "islands.every=100",
                                            "islands.fragments=4", "islands.delay=6"});
  const IslandPlay play = play_of(config, 2);
  EXPECT_EQ(play.islands.every, 7);
  EXPECT_EQ(play.steps, 15);
  EXPECT_EQ(play.count, 2);
}

}  // namespace
}  // namespace tessera
