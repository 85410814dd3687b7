// SPDX-License-Identifier: Apache-2.0
#include "elastic/rank_source.h"

#include <gtest/gtest.h>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;

ElasticConfig elastic() {
  ElasticConfig policy;
  policy.least_ranks = 1;
  return policy;
}

ElasticConfig from_file(const std::string& file) {
  ElasticConfig policy = elastic();
  policy.ranks_from = file;
  return policy;
}

TEST(RankSource, AFileIsReadAgainAtEachLook) {
  const TemporaryFolder folder;
  const std::string file = folder.write("ranks", "8").string();
  RankSource source(from_file(file), {});
  EXPECT_EQ(source.look()->ranks, 8);
  folder.write("ranks", "5\n");
  EXPECT_EQ(source.look()->ranks, 5);
  folder.write("ranks", "");  // being written
  EXPECT_EQ(source.look()->ranks, 5);
  folder.write("ranks", "five ranks");
  EXPECT_EQ(source.look()->ranks, 5);
  std::filesystem::remove(file);
  EXPECT_EQ(source.look()->ranks, 5);
  EXPECT_EQ(source.launcher(*source.look(), 5, folder.path()), Words{});
}

TEST(RankSource, AFileThatIsMissingAtTheStartIsRefused) {
  EXPECT_EQ(user_error_of([] { RankSource(from_file("/nowhere/ranks"), {}); }),
            "cannot read /nowhere/ranks, which says how many ranks are there");
}

TEST(RankSource, MpirunIsGivenTheHostsThatAreThere) {
  const TemporaryFolder folder;
  const std::string file = folder.write("cluster", "a slots=2\nb slots=2\n").string();
  RankSource source(elastic(), {"mpirun", "--hostfile", file, "--oversubscribe"});
  EXPECT_EQ(source.look()->ranks, 4);
  folder.write("cluster", "b slots=2\n");
  const Words words = source.launcher(*source.look(), 2, folder.path());
  EXPECT_EQ(words,
            (Words{"mpirun", "--oversubscribe", "--hostfile", (folder.path() / "hosts").string()}));
  EXPECT_EQ(read_text(folder.path() / "hosts"), "b slots=2\n");
}

TEST(RankSource, AHostWhoseProbeFailsIsAway) {
  ElasticConfig policy = elastic();
  policy.probe = "test {host} != b";
  RankSource source(policy, {"mpirun", "--host", "a:2,b:1,c:1"});
  EXPECT_EQ(*source.look(), ranks_of({{"a", 2}, {"c", 1}}));
}

TEST(RankSource, WithoutHostsNobodySaysWhichRanksAreThere) {
  EXPECT_FALSE(RankSource(elastic(), {"mpirun"}).look());
  EXPECT_FALSE(RankSource(elastic(), {}).look());
  EXPECT_FALSE(RankSource(ElasticConfig{}, {"mpirun", "--host", "a:2"}).look());  // switched off
}

}  // namespace
}  // namespace tessera
