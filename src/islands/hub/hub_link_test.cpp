// SPDX-License-Identifier: Apache-2.0
// The same over ZeroMQ, with a hub in a thread of its own.
#include "islands/hub/hub_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/testing/temporary_folder.h"
#include "core/testing/user_error_of.h"
#include "islands/hub/curve_keys.h"
#include "islands/hub/serve_hub.h"
#include "islands/hub/testing/hub_world.h"
#include "islands/hub/zmq_socket.h"

namespace tessera {
namespace {

class RunningHub {
 public:
  RunningHub(const TemporaryFolder& folder, const std::string& keys = "")
      : address_("ipc://" + (folder.path() / "hub.socket").string()) {
    ServeHubOptions options{
        .listen = address_, .keys = keys, .out = folder.path() / "hub", .hub = {}};
    thread_ = std::thread([this, options] {
      serve_hub(
          options, [](const std::string&) {}, [this] { return stopped_.load(); });
    });
  }
  ~RunningHub() { stop(); }
  void stop() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // With patience for a machine that is busy with other things.
  HubAddress address(int island, const std::string& keys = "") const {
    return {.address = address_,
            .keys = keys,
            .island = island,
            .join_seconds = 300,
            .silence_seconds = 120};
  }

 private:
  std::string address_;
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

std::unique_ptr<IslandLink> linked(const HubAddress& address) {
  return connect_to_hub(address, toy_settings(2), [](const std::string&) {});
}

FragmentChange toy_fragment_change(int island, ExchangeId exchange, const OuterState& outer) {
  return {.exchange = exchange,
          .bytes = toy_settings(2).format.encode(
              toy_change(island, exchange, outer.elements(exchange.fragment)))};
}

// The outer parameters after some rounds of an island.
std::vector<std::vector<std::byte>> play(IslandLink& link, int island, int64_t rounds) {
  const IslandSettings settings = toy_settings(2);
  const std::optional<OuterSnapshot> newest = link.join(toy_state());
  OuterState outer(settings.outer, settings.format, newest ? *newest : toy_state());
  for (int64_t round = 0; round < rounds; ++round) {
    link.report(round * 10, 2.5, 100);
    link.send(toy_fragment_change(island, {round, 0}, outer));
    const std::optional<CombinedChange> combined = link.receive({round, 0});
    if (combined && !combined->islands.empty()) outer.apply(*combined);
  }
  return outer.snapshot().parameters;
}

std::vector<std::vector<std::byte>> expected_after(int64_t rounds) {
  std::vector<std::pair<ExchangeId, std::vector<int>>> all;
  for (int64_t round = 0; round < rounds; ++round) all.push_back({{round, 0}, {0, 1}});
  return expected_state(toy_settings(2), toy_state(), all).parameters;
}

void play_both(const RunningHub& hub, const std::string& keys) {
  std::vector<std::vector<std::byte>> other;
  std::thread thread([&] {
    const auto link = linked(hub.address(1, keys));
    other = play(*link, 1, 3);
    link->leave();
  });
  const auto link = linked(hub.address(0, keys));
  const auto own = play(*link, 0, 3);
  thread.join();
  EXPECT_EQ(own, expected_after(3));
  EXPECT_EQ(other, expected_after(3));
}

TEST(HubLink, GivesIslandsTheBitsOfOneProcess) {
  const TemporaryFolder folder;
  const RunningHub hub(folder);
  play_both(hub, "");
}

TEST(HubLink, WithKeysLetsInWhoHasThem) {
  const TemporaryFolder folder;
  const std::string keys = (folder.path() / "keys").string();
  write_curve_keys(keys, 2, make_curve_pair);
  const RunningHub hub(folder, keys);
  play_both(hub, keys);
}

TEST(HubLink, WithoutAKeyThatTheHubKnowsIsNotHeard) {
  const TemporaryFolder folder;
  const std::filesystem::path keys = folder.path() / "keys", others = folder.path() / "others";
  write_curve_keys(keys, 2, make_curve_pair);
  write_curve_keys(others, 2, make_curve_pair);
  const RunningHub hub(folder, keys.string());
  const auto why = [&](HubAddress address, double join_seconds) {
    address.join_seconds = join_seconds;
    return user_error_of([&] { linked(address)->join(toy_state()); });
  };
  // A stranger's key; no key at all; the key of another island.
  std::filesystem::copy_file(keys / "hub.public", others / "hub.public",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(why(hub.address(1, others.string()), 1.5).find("no hub lets island 1 in"),
            std::string::npos);
  EXPECT_NE(why(hub.address(1), 1.5).find("no hub lets island 1 in"), std::string::npos);
  std::filesystem::copy_file(keys / "island-0.key", others / "island-1.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(why(hub.address(1, others.string()), 300).find("its key is that of island-0"),
            std::string::npos);
}

TEST(HubLink, GivesAChangeOfNobodyWhileTheHubIsAway) {
  const TemporaryFolder folder;
  auto hub = std::make_unique<RunningHub>(folder);
  std::vector<std::string> said;
  std::mutex mutex;
  HubAddress address = hub->address(0);
  address.silence_seconds = 2;
  const auto link = connect_to_hub(address, toy_settings(2), [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said.push_back(text);
  });
  ASSERT_FALSE(link->join(toy_state()));
  hub.reset();
  OuterState outer(OuterOptions{}, toy_settings(2).format, toy_state());
  for (const int64_t round : {0, 1}) {
    link->send(toy_fragment_change(0, {round, 0}, outer));
    const std::optional<CombinedChange> combined = link->receive({round, 0});
    ASSERT_TRUE(combined);
    EXPECT_TRUE(combined->islands.empty());
  }
  hub = std::make_unique<RunningHub>(folder);
  const auto was_said = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    return std::ranges::find(said, text) != said.end();
  };
  for (const char* text :
       {"the hub has not been heard for 2 s: this island goes on alone", "the hub is back"}) {
    for (int tries = 0; tries < 3000 && !was_said(text); ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_TRUE(was_said(text)) << text;
  }
}

TEST(HubLink, NeedsKeysWhereOthersCouldReachTheHub) {
  EXPECT_NE(
      user_error_of([] { linked({.address = "tcp://10.0.0.1:5555"}); }).find("there are no keys"),
      std::string::npos);
  EXPECT_NE(user_error_of([] {
              serve_hub(
                  {.listen = "tcp://*:5555", .hub = {}}, [](const std::string&) {},
                  [] { return true; });
            }).find("there are no keys"),
            std::string::npos);
}

TEST(CurveKeyFiles, OfAnotherOwnersEyesAreRefused) {
  const TemporaryFolder folder;
  write_curve_keys(folder.path() / "keys", 1, make_curve_pair);
  EXPECT_NO_THROW(read_curve_pair(folder.path() / "keys", "hub"));
  std::filesystem::permissions(folder.path() / "keys" / "hub.key", std::filesystem::perms(0644));
  EXPECT_NE(user_error_of([&] {
              read_curve_pair(folder.path() / "keys", "hub");
            }).find("can be read by others"),
            std::string::npos);
  EXPECT_NE(user_error_of([&] {
              write_curve_keys(folder.path() / "keys", 1, make_curve_pair);
            }).find("holds keys already"),
            std::string::npos);
}

}  // namespace
}  // namespace tessera
