// SPDX-License-Identifier: Apache-2.0
// Islands and their hub over a network and a clock of the test's own.
#include "islands/hub/island_hub.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <random>
#include <thread>

#include "core/testing/temporary_folder.h"
#include "islands/hub/testing/hub_world.h"

namespace tessera {
namespace {

using Exchanges = std::vector<std::pair<ExchangeId, std::vector<int>>>;

TEST(IslandHub, AndAllIslandsHaveTheBitsOfOneProcess) {
  for (const IslandWire wire : {IslandWire::Int8, IslandWire::Exact}) {
    HubWorld world(toy_settings(3, wire));
    ToyIsland &a = world.join(0), &b = world.join(1), &c = world.join(2);
    Exchanges all;
    for (int64_t round = 0; round < 3; ++round)
      for (const int fragment : {0, 1}) {
        world.exchange_all({round, fragment}, {&b, &c, &a});
        all.push_back({{round, fragment}, {0, 1, 2}});
      }
    const OuterSnapshot expected = expected_state(toy_settings(3, wire), toy_state(), all);
    for (const OuterSnapshot* outer : {&a.outer->snapshot(), &b.outer->snapshot(),
                                       &c.outer->snapshot(), &world.hub->run().outer()}) {
      EXPECT_EQ(outer->parameters, expected.parameters);
      EXPECT_EQ(outer->momentum, expected.momentum);
      EXPECT_EQ(outer->next, expected.next);
    }
  }
}

TEST(IslandHub, GivesTheSameBitsWhenMessagesAreLost) {
  HubWorld world(toy_settings(2));
  world.lose_every = 9;
  ToyIsland &a = world.join(0), &b = world.join(1);
  Exchanges all;
  for (int64_t round = 0; round < 3; ++round) {
    world.exchange_all({round, 0}, {&a, &b});
    all.push_back({{round, 0}, {0, 1}});
  }
  EXPECT_EQ(b.outer->snapshot().parameters,
            expected_state(toy_settings(2), toy_state(), all).parameters);
}

TEST(IslandHub, SendsNoWeightsToIslandsThatBeginAlike) {
  HubWorld world(toy_settings(2));
  world.join(0);
  ToyIsland& b = world.add(1);
  ASSERT_TRUE(world.until([&] { return b.talk->has_joined(); }));
  EXPECT_FALSE(b.talk->take_newest());
  EXPECT_TRUE(world.was_said("island 1 begins with the outer weights that the others have"));
}

TEST(IslandHub, LetsAnIslandThatDiedGoAndTheOthersGoOn) {
  HubWorld world(toy_settings(3));
  ToyIsland &a = world.join(0), &b = world.join(1), &c = world.join(2);
  world.exchange_all({0, 0}, {&a, &b, &c});
  world.kill(b);
  const double begin = world.now;
  world.exchange_all({1, 0}, {&a, &c});
  EXPECT_LT(world.now - begin, 12);  // not its patience of 60 s
  EXPECT_TRUE(world.was_said("island 1 has not been heard for 10 s; the others go on: 0, 2"));
  EXPECT_EQ(a.outer->snapshot().parameters,
            expected_state(toy_settings(3), toy_state(), {{{0, 0}, {0, 1, 2}}, {{1, 0}, {0, 2}}})
                .parameters);
}

TEST(IslandHub, DoesNotWaitForAnIslandThatLeft) {
  HubWorld world(toy_settings(2));
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.hub->take(b.connection, "", b.talk->farewell(), world.now);
  world.kill(b);
  const double begin = world.now;
  world.exchange_all({0, 0}, {&a});
  EXPECT_LT(world.now - begin, 2);
  EXPECT_TRUE(world.was_said("island 1 has left; the others go on: 0"));
}

TEST(IslandHub, GivesALateJoinerTheNewestOuterState) {
  HubWorld world(toy_settings(3));
  ToyIsland &a = world.join(0), &b = world.join(1);
  for (int64_t round = 0; round < 3; ++round) world.exchange_all({round, 0}, {&a, &b});
  world.exchange_all({2, 1}, {&a, &b});
  ToyIsland& c = world.join(2);
  EXPECT_EQ(c.outer->snapshot().parameters, a.outer->snapshot().parameters);
  EXPECT_EQ(c.outer->snapshot().momentum, a.outer->snapshot().momentum);
  EXPECT_EQ(c.outer->next(), (ExchangeId{3, 0}));
  world.exchange_all({3, 0}, {&a, &b, &c});
  EXPECT_EQ(c.outer->snapshot().parameters, world.hub->run().outer().parameters);
  EXPECT_TRUE(world.was_said("island 2 joins and takes the newest outer weights, before round 3"));
}

TEST(IslandHub, ClosesWithoutAnIslandThatLags) {
  HubWorld world(toy_settings(2));
  ToyIsland &a = world.join(0), &b = world.join(1);
  const double begin = world.now;
  world.exchange_all({0, 0}, {&a});
  EXPECT_GT(world.now - begin, 59);
  world.send(b, {0, 0});
  EXPECT_TRUE(world.receive(b, {0, 0}).closed_without);
  world.take_newest(b);
  EXPECT_EQ(b.outer->snapshot().parameters, a.outer->snapshot().parameters);
  world.exchange_all({1, 0}, {&a, &b});
  EXPECT_EQ(b.outer->snapshot().parameters, a.outer->snapshot().parameters);
  EXPECT_TRUE(world.was_said("round 0, fragment 0 closed without island 1"));
}

TEST(IslandHub, ThatIsKilledAndStartedAgainGoesOnWithTheSameBits) {
  const TemporaryFolder folder;
  HubWorld world(toy_settings(2), folder.path());
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.exchange_all({0, 0}, {&a, &b});
  world.send(a, {1, 0});
  world.pass(2);  // its change has come when the hub ends
  world.kill_hub();
  world.pass(3);
  world.start_hub();
  world.send(b, {1, 0});
  world.receive(a, {1, 0});
  world.receive(b, {1, 0});
  const OuterSnapshot expected =
      expected_state(toy_settings(2), toy_state(), {{{0, 0}, {0, 1}}, {{1, 0}, {0, 1}}});
  EXPECT_EQ(a.outer->snapshot().parameters, expected.parameters);
  EXPECT_EQ(b.outer->snapshot().parameters, expected.parameters);
  EXPECT_EQ(world.hub->run().outer().parameters, expected.parameters);
}

// The first to come back must not close an exchange before the others can.
TEST(IslandHub, ThatIsStartedAgainWaitsForThoseWhoWereThere) {
  const TemporaryFolder folder;
  HubWorld world(toy_settings(2), folder.path());
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.exchange_all({0, 0}, {&a, &b});
  b.cut = true;
  world.kill_hub();
  world.start_hub();
  world.send(a, {1, 0});
  world.send(b, {1, 0});
  world.pass(5);
  EXPECT_FALSE(a.talk->take_outcome({1, 0}));
  b.cut = false;
  EXPECT_EQ(world.receive(a, {1, 0}).combined.islands, (std::vector<int>{0, 1}));
}

TEST(IslandHub, ThatIsAwayIsNoticedAndJoinedAgain) {
  const TemporaryFolder folder;
  HubWorld world(toy_settings(2), folder.path());
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.exchange_all({0, 0}, {&a, &b});
  world.kill_hub();
  world.pass(12);
  for (ToyIsland* island : {&a, &b}) {
    EXPECT_TRUE(island->talk->hub_is_away(world.now));
    const std::vector<std::string> said = island->talk->take_sentences();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0], "the hub has not been heard for 10 s: this island goes on alone");
  }
  world.start_hub();
  world.pass(2);
  EXPECT_FALSE(a.talk->hub_is_away(world.now));
  EXPECT_EQ(a.talk->take_sentences(), (std::vector<std::string>{"the hub is back"}));
  // Rounds 1 to 3 never were.
  world.exchange_all({4, 0}, {&a, &b});
  EXPECT_EQ(a.outer->snapshot().parameters,
            expected_state(toy_settings(2), toy_state(), {{{0, 0}, {0, 1}}, {{4, 0}, {0, 1}}})
                .parameters);
}

// Nobody waits for what an island gave up while the hub was away, and another has yet to send.
TEST(IslandHub, DoesNotWaitForAChangeThatAnIslandGaveUp) {
  const TemporaryFolder folder;
  HubWorld world(toy_settings(2), folder.path());
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.exchange_all({0, 0}, {&a, &b});
  world.send(a, {0, 1});
  world.send(a, {1, 0});
  world.kill_hub();
  world.pass(12);
  a.talk->drop({0, 1});
  world.start_hub();
  world.send(b, {0, 1});
  world.send(b, {1, 0});
  const double begin = world.now;
  EXPECT_EQ(world.receive(b, {0, 1}).combined.islands, (std::vector<int>{1}));
  world.receive(b, {1, 0});
  EXPECT_LT(world.now - begin, 12);  // not its patience of 60 s
  EXPECT_EQ(world.receive(a, {1, 0}).combined.islands, (std::vector<int>{0, 1}));
  EXPECT_EQ(world.hub->run().outer().parameters[0], a.outer->snapshot().parameters[0]);
}

// Whether or not the hub has it by then: neither counts it.
TEST(IslandHub, DoesNotCountAChangeThatWasGivenUp) {
  HubWorld world(toy_settings(2));
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.send(a, {0, 0});
  world.pass(2);  // it has come
  a.talk->drop({0, 0});
  world.pass(2);
  world.send(b, {0, 0});
  EXPECT_EQ(world.receive(b, {0, 0}).combined.islands, (std::vector<int>{1}));
}

// Over a link with latency, where much is said before an answer comes; of a size that takes more
// than one piece.
TEST(IslandHub, IsSentAChangeOnceAndSendsTheCombinedOneOnce) {
  const IslandSettings settings = toy_settings(2, IslandWire::Exact);
  HubWorld world(settings);
  ToyIsland &a = world.join(0), &b = world.join(1);
  constexpr size_t kBytes = 160000;
  const size_t sent = a.sent_bytes, heard = a.heard_bytes;
  world.latency_seconds = 3;
  world.send(a, {0, 0});
  world.pass(45);
  EXPECT_EQ(a.sent_bytes - sent, kBytes);
  world.send(b, {0, 0});
  world.receive(a, {0, 0});
  world.pass(10);
  EXPECT_EQ(a.sent_bytes - sent, kBytes);
  EXPECT_EQ(a.heard_bytes - heard, kBytes);
}

TEST(IslandHub, IsSentAChangeAgainThatItSaysItDoesNotHave) {
  HubWorld world(toy_settings(2));
  ToyIsland& a = world.join(0);
  world.join(1);
  const size_t before = a.sent_bytes;
  world.send(a, {0, 0});
  world.pass(2);
  const size_t once = a.sent_bytes - before;
  a.talk->hear({.kind = MessageKind::Open, .blob = BlobKind::Combined, .size = 1}, world.now);
  world.pass(2);
  EXPECT_EQ(a.sent_bytes - before, 2 * once);
}

// A disk may need longer than the silence after which islands go on alone.
TEST(IslandHub, HearsIslandsWhileItSaves) {
  const TemporaryFolder folder;
  HubWorld world(toy_settings(2), folder.path());
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.kill_hub();
  std::promise<void> disk;
  world.before_save = [wait = disk.get_future().share()] { wait.wait(); };
  world.saves_beside = true;
  world.start_hub();
  world.pass(2);
  const size_t sent = a.sent_bytes;
  for (ToyIsland* island : {&a, &b}) world.send(*island, {0, 0});
  world.pass(30);
  EXPECT_EQ(a.sent_bytes - sent, 40628u) << "a byte for each value, and scales, once";
  EXPECT_TRUE(world.hub->run().is_saving());
  for (ToyIsland* island : {&a, &b}) {
    EXPECT_FALSE(island->talk->take_outcome({0, 0})) << "it is not on disk yet";
    EXPECT_FALSE(island->talk->hub_is_away(world.now));
    world.send(*island, {0, 1});
  }
  disk.set_value();
  while (world.hub->run().is_saving()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    world.hub->look(world.now);
  }
  // The next exchange closes by itself, which is another save.
  for (const int fragment : {0, 1})
    for (ToyIsland* island : {&a, &b}) {
      std::optional<IslandTalk::Outcome> outcome;
      while (!(outcome = island->talk->take_outcome({0, fragment}))) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        world.tick();
      }
      EXPECT_FALSE(outcome->closed_without);
      island->outer->apply(outcome->combined);
    }
  EXPECT_EQ(a.outer->snapshot().parameters, world.hub->run().outer().parameters);
}

TEST(IslandHub, IsSentAgainWhatItLost) {
  HubWorld world(toy_settings(2));
  ToyIsland &a = world.join(0), &b = world.join(1);
  for (int64_t round = 0; round < 20; ++round) {
    world.lose_every = 5 + round;
    world.exchange_all({round, 0}, {&a, &b});
  }
  EXPECT_EQ(world.hub->run().outer().parameters, b.outer->snapshot().parameters);
}

// An island that did not hear what became of an exchange has other outer weights than the hub.
TEST(IslandHub, DoesNotTakeAChangeThatStartsFromOtherOuterWeights) {
  HubWorld world(toy_settings(2));
  ToyIsland &a = world.join(0), &b = world.join(1);
  world.send(b, {0, 0});
  world.pass(1);
  b.cut = true;
  world.send(a, {0, 0});
  world.receive(a, {0, 0});  // with b's change
  b.talk->drop({0, 0});
  b.cut = false;
  world.send(b, {1, 0});
  EXPECT_TRUE(world.receive(b, {1, 0}).closed_without);
  // The others do not wait for what b cannot have, and b is with them again in the next exchange.
  const double begin = world.now;
  world.exchange_all({1, 0}, {&a});
  EXPECT_LT(world.now - begin, 3);
  world.take_newest(b);
  world.exchange_all({2, 0}, {&a, &b});
  EXPECT_EQ(world.hub->run().outer().parameters, b.outer->snapshot().parameters);
}

TEST(IslandHub, RefusesOtherSettingsSizesAndKeys) {
  HubWorld world(toy_settings(2));
  world.join(0);
  const auto answer = [&](const std::function<void(Message&)>& edit, const std::string& user) {
    IslandTalk talk({.island = 1, .life = "other", .settings = toy_settings(2)}, world.now);
    talk.join(toy_state());
    Message hello = talk.speak(world.now).at(0);
    edit(hello);
    const auto replies = world.hub->take("x", user, hello, world.now);
    return replies.at(0).message.kind == MessageKind::Refused ? replies[0].message.text
                                                              : std::string("taken");
  };
  EXPECT_EQ(answer([](Message& hello) { hello.settings["islands.every"] = "20"; }, ""),
            "islands.every is 20 in island 1, and 10 in the others");
  EXPECT_EQ(answer([](Message& hello) { hello.settings.erase("islands.every"); }, ""),
            "island 1 says nothing about islands.every");
  EXPECT_EQ(answer([](Message& hello) { hello.state_bytes[0] += 4; }, ""),
            "island 1 has parameters of other sizes");
  EXPECT_EQ(answer([](Message& hello) { hello.island = 2; }, ""),
            "there is no island 2: they are 0 to 1");
  EXPECT_EQ(answer([](Message&) {}, "island-0"), "its key is that of island-0");
  EXPECT_EQ(answer([](Message&) {}, "island-1"), "taken");
}

TEST(IslandHub, TakesASecondIslandOfANumberOnlyWhenTheFirstIsGone) {
  HubWorld world(toy_settings(2));
  world.join(0);
  ToyIsland& b = world.join(1);
  ToyIsland& other = world.add(1, "other life");
  world.pass(30);
  EXPECT_FALSE(other.talk->has_joined());
  world.kill(b);
  EXPECT_TRUE(world.until([&] { return other.talk->has_joined(); }, 15));
}

TEST(IslandHub, KeepsAnIslandThatOnlyHasAnotherConnection) {
  HubWorld world(toy_settings(2));
  world.join(0);
  world.join(1);
  world.reconnect(world.islands.begin()->second);
  world.pass(3);
  std::vector<ToyIsland*> all;
  for (auto& [connection, island] : world.islands) all.push_back(&island);
  world.exchange_all({0, 0}, all);
  EXPECT_FALSE(world.was_said("has not been heard"));
}

// Whatever comes, the hub answers, and the islands that are there lose nothing.
TEST(IslandHub, SurvivesMessagesThatMakeNoSense) {
  HubWorld world(toy_settings(2));
  ToyIsland &a = world.join(0), &b = world.join(1);
  std::mt19937 random(1);
  const auto below = [&](int64_t count) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
  };
  for (int i = 0; i < 20000; ++i) {
    Message message{.kind = static_cast<MessageKind>(below(16)),
                    .island = below(4),
                    .life = "x",
                    .blob = static_cast<BlobKind>(below(5)),
                    .round = below(3),
                    .base = below(3) - 1,
                    .fragment = below(4),
                    .offset = below(3) * static_cast<int64_t>(kPieceBytes),
                    .size = below(2) == 0 ? 40625 : below(300000),
                    .digest = below(2) == 0 ? "" : "0123456789abcdef",
                    .text = "1.0",
                    .rounds = {below(3), below(3)},
                    .state_bytes = {160000, 1200}};
    if (message.offset > message.size) message.offset = 0;
    message.bytes.resize(static_cast<size_t>(std::min<int64_t>(
        {below(70000), message.size - message.offset, static_cast<int64_t>(kPieceBytes)})));
    if (below(3) == 0) message.settings = to_texts(toy_settings(2));
    world.hub->take("stranger", "", HubWorld::over_wire(message), world.now);
  }
  world.exchange_all({0, 0}, {&a, &b});
  EXPECT_EQ(a.outer->snapshot().parameters,
            expected_state(toy_settings(2), toy_state(), {{{0, 0}, {0, 1}}}).parameters);
}

}  // namespace
}  // namespace tessera
