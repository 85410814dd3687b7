// SPDX-License-Identifier: Apache-2.0
#include "comm/texts.h"

#include <gtest/gtest.h>

#include "comm/testing/backends.h"

namespace tessera {
namespace {

class Texts : public testing::TestWithParam<std::tuple<Backend, int>> {};

std::string text_of(int rank) { return std::string(static_cast<size_t>(7 * rank), 'a') + "!"; }

TEST_P(Texts, AreGatheredOnTheFirstRankAndSharedFromIt) {
  const auto& [backend, ranks] = GetParam();
  backend.each_rank(ranks, 60, [&, size = ranks](RankWorld& world, const Allocate&) {
    const auto group = world.everyone("texts");
    const std::vector<std::string> texts = gather_strings(*group, text_of(world.rank()));
    ASSERT_EQ(texts.size(), static_cast<size_t>(world.rank() == 0 ? size : 0));
    for (size_t rank = 0; rank < texts.size(); ++rank)
      EXPECT_EQ(texts[rank], text_of(static_cast<int>(rank)));
    EXPECT_EQ(broadcast_string(*group, text_of(3 + world.rank())), text_of(3));
    EXPECT_EQ(broadcast_string(*group, ""), "");
  });
}

INSTANTIATE_TEST_SUITE_P(, Texts,
                         testing::Combine(testing::ValuesIn(backends()),
                                          testing::ValuesIn(rank_counts())),
                         [](const auto& instance) { return backend_and_ranks(instance); });

}  // namespace
}  // namespace tessera
