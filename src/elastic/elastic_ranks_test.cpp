// SPDX-License-Identifier: Apache-2.0
#include "elastic/elastic_ranks.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"

namespace tessera {
namespace {

// Eight ranks of a file; time passes where the test says so.
class ElasticRanksTest : public testing::Test {
 protected:
  ElasticRanksTest() { there(8); }

  void there(int ranks) { folder_.write("ranks", std::to_string(ranks)); }
  void after(double seconds) {
    now_ += std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(seconds));
  }
  ElasticRanks elastic(const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{"mesh=pp=2,dp=2,tp=2",
                                      "model.layers=4",
                                      "model.width=32",
                                      "model.heads=4",
                                      "model.kv_heads=4",
                                      "model.mlp_size=64",
                                      "train.batch=8",
                                      "train.seq=32",
                                      "train.microbatches=4",
                                      "elastic.least_ranks=2",
                                      "elastic.cluster=laptop",
                                      "elastic.shrink_after_seconds=10",
                                      "elastic.grow_after_seconds=60",
                                      "elastic.ranks_from=" + (folder_.path() / "ranks").string()};
    settings.insert(settings.end(), more.begin(), more.end());
    const Config config = parse_config("", "test", settings);
    return {config, RankSource(config.elastic, {}), false, [this] { return now_; }};
  }

  const TemporaryFolder folder_;
  std::chrono::steady_clock::time_point now_ = std::chrono::steady_clock::now();
};

TEST_F(ElasticRanksTest, ARunIsStartedAsGivenWhereAllRanksAreThere) {
  ElasticRanks run = elastic();
  EXPECT_TRUE(run.ready());
  EXPECT_TRUE(run.is_as_given());
  EXPECT_EQ(run.plan().ranks, 8);
}

TEST_F(ElasticRanksTest, ASpareTakesThePlaceOfALostRankAtOnce) {
  there(9);
  ElasticRanks run = elastic();
  EXPECT_TRUE(run.ready());
  there(8);
  after(1);
  EXPECT_TRUE(run.ready());
  EXPECT_TRUE(run.is_as_given());
}

TEST_F(ElasticRanksTest, WaitsForALostRankBeforeItContinuesWithout) {
  ElasticRanks run = elastic();
  EXPECT_TRUE(run.ready());
  there(7);
  after(1);
  EXPECT_FALSE(run.ready());
  after(9);
  EXPECT_FALSE(run.ready());
  after(2);
  EXPECT_TRUE(run.ready());
  EXPECT_FALSE(run.is_as_given());
  EXPECT_LE(run.plan().ranks, 7);
  EXPECT_EQ(run.available_at_start(), 7);
}

TEST_F(ElasticRanksTest, ARankThatIsBackInTimeChangesNothing) {
  ElasticRanks run = elastic();
  EXPECT_TRUE(run.ready());
  there(7);
  after(1);
  EXPECT_FALSE(run.ready());
  there(8);
  after(1);
  EXPECT_TRUE(run.ready());
  EXPECT_TRUE(run.is_as_given());
}

TEST_F(ElasticRanksTest, GrowsOnceRanksHaveStayed) {
  ElasticRanks run = elastic();
  there(4);
  after(1);
  EXPECT_FALSE(run.ready());
  after(11);
  EXPECT_TRUE(run.ready());
  EXPECT_FALSE(run.must_move());
  there(8);
  after(1);
  EXPECT_FALSE(run.must_move());
  after(50);
  EXPECT_FALSE(run.must_move());
  there(6);  // some leave again: the time begins again
  after(20);
  EXPECT_FALSE(run.must_move());
  there(8);
  after(1);
  EXPECT_FALSE(run.must_move());
  after(61);
  EXPECT_TRUE(run.must_move());
  EXPECT_TRUE(run.ready());
  EXPECT_TRUE(run.is_as_given());
}

TEST_F(ElasticRanksTest, SavesAndMovesWhereRanksAreTakenAway) {
  ElasticRanks run = elastic();
  EXPECT_TRUE(run.ready());
  there(6);
  after(1);
  EXPECT_FALSE(run.must_move());
  after(11);
  EXPECT_TRUE(run.must_move());
  EXPECT_TRUE(run.ready());
  EXPECT_LE(run.plan().ranks, 6);
}

TEST_F(ElasticRanksTest, WaitsWhereTooFewAreLeft) {
  ElasticRanks run = elastic();
  EXPECT_TRUE(run.ready());
  there(1);
  after(1);
  EXPECT_FALSE(run.ready());
  after(3600);
  EXPECT_FALSE(run.ready());
  there(2);
  after(1);
  EXPECT_FALSE(run.ready());
  after(11);
  EXPECT_TRUE(run.ready());
  EXPECT_EQ(run.plan().ranks, 2);
}

TEST_F(ElasticRanksTest, DoesWithOneLessWhereItFailsAgainAndAgain) {
  ElasticRanks run = elastic({"elastic.least_ranks=7"});
  EXPECT_TRUE(run.ready());
  EXPECT_FALSE(run.do_with_less());  // seven have no plan: the batch is eight
  ElasticRanks other = elastic({"elastic.least_ranks=4"});
  EXPECT_TRUE(other.ready());
  EXPECT_TRUE(other.do_with_less());
  EXPECT_LE(other.plan().ranks, 7);
  after(100);
  EXPECT_TRUE(other.ready());
  EXPECT_FALSE(other.must_move());  // the file still lists the same
  there(9);
  after(1);
  EXPECT_FALSE(other.must_move());
  after(61);
  EXPECT_TRUE(other.must_move());  // somebody has changed something
}

TEST_F(ElasticRanksTest, WithoutAMeshThePlannerChoosesTheFirstPlan) {
  ElasticRanks run = elastic({"mesh=dp=1", "elastic.most_ranks=8"});
  EXPECT_TRUE(run.ready());
  EXPECT_FALSE(run.is_as_given());
}

TEST_F(ElasticRanksTest, SwitchedOffItAlwaysTakesWhatWasGiven) {
  ElasticRanks run = elastic({"elastic.least_ranks=0"});
  there(1);
  EXPECT_FALSE(run.is_on());
  EXPECT_TRUE(run.ready());
  EXPECT_FALSE(run.must_move());
  EXPECT_FALSE(run.do_with_less());
  EXPECT_TRUE(run.is_as_given());
}

}  // namespace
}  // namespace tessera
