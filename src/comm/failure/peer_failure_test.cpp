// SPDX-License-Identifier: Apache-2.0
// A rank that dies, hangs or runs another program is named on every other rank, with the collective
// and the group, within the deadline.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "comm/communicator.h"
#include "comm/failure/peer_error.h"
#include "comm/testing/backends.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kGuilty = 1;
constexpr double kDeadlineSeconds = 0.2;

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// What the innocent ranks run, and what they must be told.
struct Innocent {
  RankWorld& world;
  const Allocate& allocate;
  int64_t elements;

  void expect_told(const std::vector<std::string>& words) const {
    const auto group = world.group(all_ranks(world.size()), "dp");
    auto* data = allocate(elements * 4);
    const Collective collective{.kind = CollectiveKind::AllReduce,
                                .input = data,
                                .input_parts = contiguous_parts(elements),
                                .output = data,
                                .output_parts = contiguous_parts(elements),
                                .name = "grad(w1)"};
    const Clock::time_point begin = Clock::now();
    try {
      for (int i = 0; i < 3; ++i) group->run(collective);
      ADD_FAILURE() << "rank " << world.rank() << " was told nothing";
    } catch (const PeerError& error) {
      const std::string text = error.what();
      for (const std::string& word : words)
        EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' is not in: " << text;
      EXPECT_NE(text.find(fmt::format("rank {}/{}: ", world.rank(), world.size())),
                std::string::npos)
          << text;
    }
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), kDeadlineSeconds + 2);
  }
};

class PeerFailure : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  // Large inputs are read from their owner's memory, small ones from the mailbox.
  void expect_named(const std::vector<std::string>& words,
                    const std::function<void(Communicator&, std::byte*, int64_t)>& guilty) const {
    const auto& [backend, ranks] = GetParam();
    for (const int64_t elements : {8, 5000})
      EXPECT_ANY_THROW(backend.each_rank(
          ranks, kDeadlineSeconds, [&](RankWorld& world, const Allocate& allocate) {
            if (world.rank() != kGuilty)
              return Innocent{world, allocate, elements}.expect_told(words);
            std::byte* data = allocate(elements * 4);
            const auto group = world.group(all_ranks(world.size()), "dp");
            guilty(*group, data, elements);
          }));
  }

  static Collective all_reduce(std::byte* data, int64_t elements) {
    return {.kind = CollectiveKind::AllReduce,
            .input = data,
            .input_parts = contiguous_parts(elements),
            .output = data,
            .output_parts = contiguous_parts(elements),
            .name = "grad(w1)"};
  }
};

TEST_P(PeerFailure, ARankThatThrowsIsNamedWithItsReason) {
  // A small all_reduce #0 may end on the guilty rank before the others have waited for it.
  expect_named({" grad(w1) over dp={0,1", "rank 1 failed", "disk is full"},
               [](Communicator& group, std::byte* data, int64_t elements) {
                 group.run(all_reduce(data, elements));
                 throw std::runtime_error("disk is full");
               });
}

TEST_P(PeerFailure, ARankThatThrowsWithACollectiveInFlightIsNamedWithItsReason) {
  expect_named({" grad(w1) over dp={0,1", "rank 1 failed", "disk is full"},
               [](Communicator& group, std::byte* data, int64_t elements) {
                 group.run(all_reduce(data, elements));
                 group.start(all_reduce(data, elements));
                 throw std::runtime_error("disk is full");
               });
}

TEST_P(PeerFailure, ARankThatHangsIsNamedWhenTheDeadlinePasses) {
  expect_named({"all_reduce #1 grad(w1) over dp={0,1", "no reply from rank 1 for 0.2 s",
                "the last it started in this group is all_reduce #0 grad(w1)"},
               [](Communicator& group, std::byte* data, int64_t elements) {
                 group.run(all_reduce(data, elements));
                 std::this_thread::sleep_for(std::chrono::milliseconds(600));
               });
}

TEST_P(PeerFailure, ARankThatEndsEarlyIsNamed) {
  expect_named({"all_reduce #1 grad(w1) over dp={0,1", "rank 1 has ended"},
               [](Communicator& group, std::byte* data, int64_t elements) {
                 group.run(all_reduce(data, elements));
               });
}

TEST_P(PeerFailure, ARankThatRunsAnotherCollectiveIsNamedWithBoth) {
  const auto expect_mismatch = [&](const std::string& text, auto change) {
    expect_named({"all_reduce #1", "over dp={0,1", text},
                 [&](Communicator& group, std::byte* data, int64_t elements) {
                   group.run(all_reduce(data, elements));
                   Collective other = all_reduce(data, elements);
                   other.name = "another";
                   change(other);
                   EXPECT_THROW(group.run(other), PeerError);
                 });
  };
  expect_mismatch("reduce_scatter #1 another", [](Collective& c) {
    c.kind = CollectiveKind::ReduceScatter;
    c.input_parts.part_stride = 0;
  });
  expect_mismatch("another (", [](Collective& c) {
    c.input_parts = c.output_parts = contiguous_parts(c.input_parts.inner - 1);
  });
  expect_mismatch("x int32, sum)", [](Collective& c) { c.dtype = DType::Int32; });
  expect_mismatch("x fp32, max)", [](Collective& c) { c.reduction = Reduction::Max; });
}

TEST_P(PeerFailure, ARankThatSkipsAStepIsNamedAtTheFirstCollectiveThatItLeavesOut) {
  const auto& [backend, ranks] = GetParam();
  EXPECT_ANY_THROW(backend.each_rank(ranks, 30, [&](RankWorld& world, const Allocate& allocate) {
    std::byte* data = allocate(32);
    const auto in_step = world.group(all_ranks(world.size()), "dp");
    const auto between = world.group(all_ranks(world.size()), "job");
    world.at_step(6);
    const Clock::time_point begin = Clock::now();
    try {
      if (world.rank() != kGuilty) in_step->run(all_reduce(data, 8));
      world.at_step(7);
      between->run(all_reduce(data, 8));
      ADD_FAILURE() << "rank " << world.rank() << " was told nothing";
    } catch (const PeerError& error) {
      const std::string text = error.what();
      EXPECT_EQ(error.guilty_rank(), kGuilty) << text;
      EXPECT_NE(text.find("all_reduce #0 grad(w1) over dp={0,1"), std::string::npos) << text;
      EXPECT_NE(text.find("rank 1 is at step 7 without it, but this rank is at step 6"),
                std::string::npos)
          << text;
    }
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 5);
  }));
}

TEST_P(PeerFailure, ASendThatNobodyTakesNamesTheReceiver) {
  const auto& [backend, ranks] = GetParam();
  EXPECT_ANY_THROW(
      backend.each_rank(ranks, kDeadlineSeconds, [&](RankWorld& world, const Allocate& allocate) {
        std::byte* data = allocate(8000);
        const auto group = world.group(all_ranks(world.size()), "pp");
        if (world.rank() == kGuilty)
          return std::this_thread::sleep_for(std::chrono::milliseconds(600));
        try {
          group->run({.kind = world.rank() == 0 ? CollectiveKind::Send : CollectiveKind::Recv,
                      .input = world.rank() == 0 ? data : nullptr,
                      .input_parts = contiguous_parts(world.rank() == 0 ? 2000 : 0),
                      .output = world.rank() == 0 ? nullptr : data,
                      .output_parts = contiguous_parts(world.rank() == 0 ? 0 : 2000),
                      .root = kGuilty,
                      .name = "activations"});
          ADD_FAILURE() << "rank " << world.rank() << " was told nothing";
        } catch (const PeerError& error) {
          const std::string text = error.what();
          EXPECT_NE(text.find("#0 activations over pp={0,1"), std::string::npos) << text;
          EXPECT_NE(text.find("no reply from rank 1"), std::string::npos) << text;
        }
      }));
}

std::vector<int> two_or_four() {
  std::vector<int> counts = rank_counts();
  std::erase_if(counts, [](int ranks) { return ranks != 2 && ranks != 4; });
  return counts;
}

// A job of another size has none of these.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PeerFailure);
INSTANTIATE_TEST_SUITE_P(, PeerFailure,
                         testing::Combine(testing::ValuesIn(backends()),
                                          testing::ValuesIn(two_or_four())),
                         [](const auto& instance) { return backend_and_ranks(instance); });

}  // namespace
}  // namespace tessera
