// SPDX-License-Identifier: Apache-2.0
#include "islands/local_islands.h"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

constexpr WireFormat kExact{IslandWire::Exact, DType::Fp64};

TEST(LocalIslands, AllHearTheSameMean) {
  LocalIslands all(3, {.optimizer = OuterOptimizer::Average}, kExact);
  std::vector<std::vector<std::byte>> heard(3);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        const auto link = all.link(i);
        EXPECT_FALSE(link->join({.parameters = {kExact.encode(std::vector<double>{10})}}));
        for (int64_t round = 0; round < 5; ++round) {
          link->send(
              {.exchange = {round, 0}, .bytes = kExact.encode(std::vector<double>{1.0 * i})});
          heard[static_cast<size_t>(i)] = link->receive({round, 0})->bytes;
        }
      });
  }
  EXPECT_EQ(heard[0], kExact.encode(std::vector<double>{1}));
  EXPECT_EQ(heard[1], heard[0]);
  EXPECT_EQ(heard[2], heard[0]);
  EXPECT_EQ(all.link(0)->newest().next, (ExchangeId{5, 0}));
  EXPECT_EQ(all.link(0)->newest().parameters[0], kExact.encode(std::vector<double>{5}));
}

TEST(LocalIslands, WhoWaitsHearsThatAnotherFailed) {
  LocalIslands all(2, {}, kExact);
  std::string heard;
  {
    const std::jthread waits([&] {
      const auto link = all.link(0);
      try {
        link->join({.parameters = {kExact.encode(std::vector<double>{1})}});
        link->send({.exchange = {0, 0}, .bytes = kExact.encode(std::vector<double>{1})});
        link->receive({0, 0});
      } catch (const IslandFailed& failed) {
        heard = failed.what();
      }
    });
    all.fail(1, "its disk is full");
  }
  EXPECT_EQ(heard, "island 1 failed: its disk is full");
  EXPECT_TRUE(all.failed());
}

}  // namespace
}  // namespace tessera
