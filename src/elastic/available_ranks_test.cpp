// SPDX-License-Identifier: Apache-2.0
#include "elastic/available_ranks.h"

#include <gtest/gtest.h>

#include "core/testing/user_error_of.h"

namespace tessera {
namespace {

TEST(AvailableRanks, AreANumberOrHosts) {
  EXPECT_EQ(parse_available("8\n", "f"), (AvailableRanks{.ranks = 8}));
  EXPECT_EQ(parse_available("# none\n0", "f"), (AvailableRanks{.ranks = 0}));
  EXPECT_EQ(parse_available("", "f"), AvailableRanks{});
  EXPECT_EQ(parse_available("a slots=2 max-slots=4 # fast\n\nb:3\nc\nd slots=0\n", "f"),
            (AvailableRanks{.ranks = 6, .hosts = {{"a", 2}, {"b", 3}, {"c", 1}}}));
}

TEST(AvailableRanks, ARefusedFileIsNamedWithItsLine) {
  for (const char* text : {"a slots=2\n8\n", "8\na slots=2", "a slots=many", "a:x"}) {
    const std::string error = user_error_of([&] { parse_available(text, "ranks.txt"); });
    EXPECT_NE(error.find("as a number of ranks or as a host"), std::string::npos) << error;
  }
}

// A probe is a line of a shell, with the name of the host in it.
TEST(AvailableRanks, AHostIsNamedByLettersThatAShellLeavesAlone) {
  for (const char* text :
       {"a;reboot", "$(reboot)", "a`b`:2", "-oProxyCommand slots=1", "'a'", ":2"})
    EXPECT_NE(user_error_of([&] { parse_available(text, "ranks.txt"); }).find("as a host"),
              std::string::npos)
        << text;
  EXPECT_EQ(parse_available("me@node-7.site_b:2", "f").hosts,
            (std::vector<HostRanks>{{"me@node-7.site_b", 2}}));
}

TEST(AvailableRanks, CountsOfSlurmAreRepeated) {
  EXPECT_EQ(parse_counts_of_nodes("2,1(x3),4"), (std::vector<int>{2, 1, 1, 1, 4}));
  EXPECT_TRUE(parse_counts_of_nodes("2,x").empty());
  EXPECT_TRUE(parse_counts_of_nodes("2(x3").empty());
}

TEST(AvailableRanks, ANodeThatDoesNotAnswerOrIsDrainedOrNotTheJobsIsAway) {
  const std::vector<HostRanks> nodes{{"a", 2}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}};
  EXPECT_EQ(
      nodes_that_are_up(nodes, "a allocated\nb allocated*\nc draining\nd mixed\nd idle\nz idle\n"),
      (AvailableRanks{.ranks = 3, .hosts = {{"a", 2}, {"d", 1}}}));
}

TEST(AvailableRanks, TheFirstHostsThatHaveEnough) {
  const AvailableRanks all = ranks_of({{"a", 2}, {"b", 2}, {"c", 2}});
  EXPECT_EQ(hosts_for(all, 3).size(), 2);
  EXPECT_EQ(hosts_for(all, 2).size(), 1);
  EXPECT_EQ(hosts_for(all, 6).size(), 3);
}

}  // namespace
}  // namespace tessera
