// SPDX-License-Identifier: Apache-2.0
// Many collectives at once: in one group, in several, and between pairs.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "comm/communicator.h"
#include "comm/testing/backends.h"

namespace tessera {
namespace {

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

float* allocate_floats(const Allocate& allocate, int64_t count) {
  return reinterpret_cast<float*>(allocate(count * static_cast<int64_t>(sizeof(float))));
}

Collective all_reduce(float* data, int64_t count, std::string_view name) {
  return {.kind = CollectiveKind::AllReduce,
          .input = reinterpret_cast<std::byte*>(data),
          .input_parts = contiguous_parts(count),
          .output = reinterpret_cast<std::byte*>(data),
          .output_parts = contiguous_parts(count),
          .name = name};
}

Collective send(const float* data, int64_t count, int to) {
  return {.kind = CollectiveKind::Send,
          .input = reinterpret_cast<const std::byte*>(data),
          .input_parts = contiguous_parts(count),
          .root = to,
          .name = "message"};
}

Collective recv(float* data, int64_t count, int from) {
  return {.kind = CollectiveKind::Recv,
          .output = reinterpret_cast<std::byte*>(data),
          .output_parts = contiguous_parts(count),
          .root = from,
          .name = "message"};
}

void expect_all(const float* data, int64_t count, float value) {
  for (int64_t i = 0; i < count; ++i)
    if (data[i] != value) {
      ADD_FAILURE() << "element " << i << " is " << data[i] << ", not " << value;
      return;
    }
}

class CollectivesInFlight : public testing::TestWithParam<std::tuple<Backend, int>> {
 protected:
  const Backend& backend() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
  float sum_of_ranks() const { return static_cast<float>(ranks() * (ranks() - 1) / 2); }
};

TEST_P(CollectivesInFlight, TicketsMayBeWaitedForInAnotherOrder) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    constexpr int kBuffers = 20;
    constexpr int64_t kCount = 1500;
    const auto group = world.group(all_ranks(ranks()), "all");
    std::vector<float*> buffers;
    std::vector<Ticket> tickets;
    for (int i = 0; i < kBuffers; ++i) {
      buffers.push_back(allocate_floats(allocate, kCount));
      std::fill_n(buffers[i], kCount, static_cast<float>(world.rank() + i));
      tickets.push_back(group->start(all_reduce(buffers[i], kCount, "bucket")));
    }
    for (int i = kBuffers - 1; i >= 0; --i) {
      group->wait(tickets[i]);
      expect_all(buffers[i], kCount, sum_of_ranks() + static_cast<float>(i * ranks()));
    }
  });
}

TEST_P(CollectivesInFlight, SlotsAreUsedAgainWithoutMixingSmallAndLargeCollectives) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    const auto group = world.group(all_ranks(ranks()), "all");
    constexpr int64_t kLarge = 400;
    float* small = allocate_floats(allocate, 3);
    float* large = allocate_floats(allocate, kLarge);
    for (int round = 0; round < 400; ++round) {
      std::fill_n(small, 3, static_cast<float>(world.rank() + round));
      std::fill_n(large, kLarge, static_cast<float>(world.rank() - round));
      const Ticket first = group->start(all_reduce(small, 3, "small"));
      const Ticket second = group->start(all_reduce(large, kLarge, "large"));
      group->wait(first);
      group->wait(second);
      expect_all(small, 3, sum_of_ranks() + static_cast<float>(ranks() * round));
      expect_all(large, kLarge, sum_of_ranks() - static_cast<float>(ranks() * round));
    }
  });
}

// Rank 0 is done with every slot and wants the first one again while the others, which have started
// everything, have read nothing yet: what it left there for them must stay.
TEST_P(CollectivesInFlight, ASlotIsNotUsedAgainBeforeEveryPeerHasReadIt) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    constexpr int kCollectives = 128;  // as many as have a mailbox from the beginning
    const auto group = world.everyone("all"), side = world.everyone("side");
    std::vector<float*> values;
    std::vector<Ticket> tickets;
    const auto start = [&](int i) {
      values.push_back(allocate_floats(allocate, 1));
      *values.back() = static_cast<float>(world.rank() + i);
      tickets.push_back(group->start(all_reduce(values.back(), 1, "small")));
    };
    const auto finish = [&](int i) {
      group->wait(tickets[static_cast<size_t>(i)]);
      EXPECT_EQ(*values[static_cast<size_t>(i)], sum_of_ranks() + static_cast<float>(i * ranks()));
    };
    for (int i = 0; i < kCollectives; ++i) start(i);
    if (world.rank() == 0)
      for (int i = 0; i < kCollectives; ++i) finish(i);
    side->run({.name = "rank 0 goes ahead"});
    if (world.rank() != 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      for (int i = 0; i < kCollectives; ++i) finish(i);
    }
    for (int i = kCollectives; i < 2 * kCollectives; ++i) start(i);
    for (int i = kCollectives; i < 2 * kCollectives; ++i) finish(i);
  });
}

// As the gradient sum of a pipeline's first chunk, which is waited for at the end of the step.
TEST_P(CollectivesInFlight, OneMayStayInFlightWhileHundredsComeAndGo) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    const auto group = world.everyone("all");
    constexpr int64_t kCount = 400;
    float* early = allocate_floats(allocate, kCount);
    float* sum = allocate_floats(allocate, 1);
    float* mine = allocate_floats(allocate, 1);
    float* received = allocate_floats(allocate, 1);
    std::fill_n(early, kCount, 1.0F);
    *mine = static_cast<float>(world.rank());
    const int to = (world.rank() + 1) % ranks(), from = (world.rank() + ranks() - 1) % ranks();
    const Ticket stays = group->start(all_reduce(early, kCount, "early"));
    for (int round = 0; round < 300; ++round) {
      *sum = static_cast<float>(round);
      const Ticket summed = group->start(all_reduce(sum, 1, "sum"));
      if (ranks() > 1) {
        const Ticket sent = group->start(send(mine, 1, to));
        group->wait(group->start(recv(received, 1, from)));
        group->wait(sent);
        ASSERT_EQ(*received, static_cast<float>(from));
      }
      group->wait(summed);
      ASSERT_EQ(*sum, static_cast<float>(round * ranks()));
    }
    group->wait(stays);
    expect_all(early, kCount, static_cast<float>(ranks()));
  });
}

TEST_P(CollectivesInFlight, HundredsMayBeInFlightAtOnce) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    constexpr int kEach = 300;
    constexpr int64_t kCount = 300;  // too much to travel with the header
    const auto group = world.everyone("all");
    const int to = (world.rank() + 1) % ranks(), from = (world.rank() + ranks() - 1) % ranks();
    for (int step = 0; step < 2; ++step) {
      std::vector<float*> sums, sent, received;
      std::vector<Ticket> tickets;
      for (int i = 0; i < kEach; ++i) {
        for (std::vector<float*>* each : {&sums, &sent, &received})
          each->push_back(allocate_floats(allocate, kCount));
        std::fill_n(sums[i], kCount, static_cast<float>(i));
        std::fill_n(sent[i], kCount, static_cast<float>(world.rank() + i));
        tickets.push_back(group->start(all_reduce(sums[i], kCount, "sum")));
        if (ranks() == 1) continue;
        tickets.push_back(group->start(send(sent[i], kCount, to)));
        tickets.push_back(group->start(recv(received[i], kCount, from)));
      }
      for (auto ticket = tickets.rbegin(); ticket != tickets.rend(); ++ticket) group->wait(*ticket);
      for (int i = 0; i < kEach; ++i) {
        expect_all(sums[i], kCount, static_cast<float>(i * ranks()));
        if (ranks() > 1) expect_all(received[i], kCount, static_cast<float>(from + i));
      }
    }
  });
}

TEST_P(CollectivesInFlight, GroupsOfAMeshRunAtTheSameTime) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    // Rows of two neighbours, and columns across them; with an odd number the last row has one.
    std::vector<int> row, column;
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank / 2 == world.rank() / 2) row.push_back(rank);
      if (rank % 2 == world.rank() % 2) column.push_back(rank);
    }
    const auto rows = world.group(row, "tp");
    const auto columns = world.group(column, "dp");
    constexpr int64_t kCount = 1000;
    float* a = allocate_floats(allocate, kCount);
    float* b = allocate_floats(allocate, kCount);
    std::fill_n(a, kCount, static_cast<float>(world.rank()));
    std::fill_n(b, kCount, static_cast<float>(world.rank()));
    const Ticket in_row = rows->start(all_reduce(a, kCount, "a"));
    const Ticket in_column = columns->start(all_reduce(b, kCount, "b"));
    columns->wait(in_column);
    rows->wait(in_row);
    expect_all(a, kCount, static_cast<float>(std::accumulate(row.begin(), row.end(), 0)));
    expect_all(b, kCount, static_cast<float>(std::accumulate(column.begin(), column.end(), 0)));
  });
}

TEST_P(CollectivesInFlight, TwoGroupsOfTheSameRanksDoNotMix) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    const auto first = world.group(all_ranks(ranks()), "first");
    const auto second = world.group(all_ranks(ranks()), "second");
    float* a = allocate_floats(allocate, 1);
    float* b = allocate_floats(allocate, 1);
    *a = 1, *b = 100;
    // Started in another order on odd ranks: right, because the groups are different ones.
    const bool odd = world.rank() % 2 == 1;
    const Ticket other = odd ? second->start(all_reduce(b, 1, "b")) : 0;
    const Ticket one = first->start(all_reduce(a, 1, "a"));
    const Ticket two = odd ? other : second->start(all_reduce(b, 1, "b"));
    first->wait(one);
    second->wait(two);
    EXPECT_EQ(*a, static_cast<float>(ranks()));
    EXPECT_EQ(*b, static_cast<float>(100 * ranks()));
  });
}

TEST_P(CollectivesInFlight, ARingPassesBlocksOnWithoutDeadlock) {
  for (const int64_t count : {4, 5000})
    backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
      if (ranks() == 1) return;
      const auto group = world.group(all_ranks(ranks()), "cp");
      float* mine = allocate_floats(allocate, count);
      float* next = allocate_floats(allocate, count);
      std::fill_n(mine, count, static_cast<float>(world.rank()));
      const int to = (world.rank() + 1) % ranks(), from = (world.rank() + ranks() - 1) % ranks();
      for (int hop = 1; hop <= ranks(); ++hop) {
        const Ticket sent = group->start(send(mine, count, to));
        const Ticket received = group->start(recv(next, count, from));
        group->wait(sent);
        group->wait(received);
        std::swap(mine, next);
        expect_all(mine, count, static_cast<float>((world.rank() + ranks() - hop) % ranks()));
      }
    });
}

TEST_P(CollectivesInFlight, AReceiveIsTakenWhileItsRankWaitsForAnAllReduce) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    if (ranks() == 1) return;
    constexpr int64_t kCount = 5000;
    const auto group = world.group(all_ranks(ranks()), "all");
    float* data = allocate_floats(allocate, kCount);
    float* sum = allocate_floats(allocate, 1);
    std::fill_n(data, kCount, static_cast<float>(world.rank()));
    *sum = 1;
    // Rank 0 sends before the all_reduce, rank 1 waits for the message after it.
    const Ticket received = world.rank() == 1 ? group->start(recv(data, kCount, 0)) : -1;
    if (world.rank() == 0) group->run(send(data, kCount, 1));
    group->run(all_reduce(sum, 1, "count"));
    if (world.rank() == 1) {
      group->wait(received);
      expect_all(data, kCount, 0);
    }
    EXPECT_EQ(*sum, static_cast<float>(ranks()));
  });
}

// A sender is done with a small message before its receiver has seen it, and may use all that
// belonged to it for the next: data must not be taken for those of a neighbour.
TEST_P(CollectivesInFlight, MessagesSentOneByOneReachTheReceivesThatTheyAreMeantFor) {
  backend().each_rank(ranks(), 60, [&](RankWorld& world, const Allocate& allocate) {
    if (ranks() == 1) return;
    constexpr int kRounds = 20, kMessages = 100;
    const auto group = world.group(all_ranks(ranks()), "all");
    const auto count_of = [](int message) { return int64_t{257} + 149 * (message % 100); };
    std::vector<float*> data;
    for (int i = 0; i < kMessages; ++i) data.push_back(allocate_floats(allocate, count_of(i)));
    for (int round = 0; round < kRounds; ++round) {
      const auto value_of = [&](int i) { return static_cast<float>(round * kMessages + i); };
      std::vector<Ticket> receives;
      for (int i = 0; i < kMessages; ++i) {
        if (world.rank() == 1) receives.push_back(group->start(recv(data[i], count_of(i), 0)));
        if (world.rank() != 0) continue;
        std::fill_n(data[i], count_of(i), value_of(i));
        group->run(send(data[i], count_of(i), 1));
      }
      for (size_t i = receives.size(); i-- > 0;) group->wait(receives[i]);
      for (int i = 0; i < kMessages && world.rank() == 1; ++i)
        expect_all(data[i], count_of(i), value_of(i));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, CollectivesInFlight,
                         testing::Combine(testing::ValuesIn(backends()),
                                          testing::ValuesIn(rank_counts())),
                         [](const auto& instance) { return backend_and_ranks(instance); });

}  // namespace
}  // namespace tessera
