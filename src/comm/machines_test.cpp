// SPDX-License-Identifier: Apache-2.0
#include "comm/machines.h"

#include <gtest/gtest.h>

#include "comm/testing/backends.h"

namespace tessera {
namespace {

// Two ranks to a machine, whatever this one is called.
class TwoPerMachine : public RankWorld {
 public:
  explicit TwoPerMachine(RankWorld& world) : world_(world) {}
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  std::unique_ptr<Communicator> group(const std::vector<int>& ranks, std::string name) override {
    return world_.group(ranks, std::move(name));
  }
  std::string machine() const override {
    return std::string(100, 'x') + std::to_string(rank() / 2);
  }

 private:
  RankWorld& world_;
};

class Machines : public testing::TestWithParam<std::tuple<Backend, int>> {};

TEST_P(Machines, AreToldApartByTheirNamesOnEveryRank) {
  const auto& [backend, ranks] = GetParam();
  backend.each_rank(ranks, 60, [&, size = ranks](RankWorld& world, const Allocate&) {
    TwoPerMachine apart(world);
    const std::vector<int> machines = machines_of_ranks(apart);
    ASSERT_EQ(machines.size(), static_cast<size_t>(size));
    for (int rank = 0; rank < size; ++rank)
      EXPECT_EQ(machines[static_cast<size_t>(rank)], rank / 2 * 2);
    EXPECT_EQ(machines_of_ranks(world), std::vector<int>(static_cast<size_t>(size), 0));
  });
}

INSTANTIATE_TEST_SUITE_P(, Machines,
                         testing::Combine(testing::ValuesIn(backends()),
                                          testing::ValuesIn(rank_counts())),
                         [](const auto& instance) { return backend_and_ranks(instance); });

}  // namespace
}  // namespace tessera
