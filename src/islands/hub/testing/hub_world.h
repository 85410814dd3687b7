// SPDX-License-Identifier: Apache-2.0
// For tests: a hub and islands with a network and a clock that the test moves. Islands "train" by
// arithmetic of their number and step, so that every bit of what they exchange is known.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "islands/hub/curve_keys.h"
#include "islands/hub/island_hub.h"
#include "islands/hub/island_talk.h"
#include "islands/outer_state.h"

namespace tessera {

inline IslandSettings toy_settings(int islands, IslandWire wire = IslandWire::Int8) {
  return {.outer = {},
          .format = {.wire = wire, .dtype = DType::Fp32},
          .islands = islands,
          .others = {{"islands.every", "10"}}};
}

// Fragments of a size that takes several pieces, and of one that takes less than one.
inline OuterSnapshot toy_state(int fragments = 2) {
  OuterSnapshot first;
  for (int f = 0; f < fragments; ++f) {
    std::vector<float> values(f == 0 ? 40000 : 300);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * 37 + static_cast<size_t>(f)) % 101) / 50;
    const auto* begin = reinterpret_cast<const std::byte*>(values.data());
    first.parameters.emplace_back(begin, begin + values.size() * sizeof(float));
    first.momentum.emplace_back(first.parameters.back().size(), std::byte{0});
  }
  return first;
}

// What an island has learned of a fragment since the last exchange.
inline std::vector<double> toy_change(int island, ExchangeId exchange, int64_t elements) {
  std::vector<double> change(static_cast<size_t>(elements));
  for (size_t i = 0; i < change.size(); ++i)
    change[i] = 0.001 * static_cast<double>((i * 13 + static_cast<size_t>(island) * 7 +
                                             static_cast<size_t>(exchange.round) * 3) %
                                            29) -
                0.01;
  return change;
}

// The outer state after exchanges in which these islands took part, without any hub.
inline OuterSnapshot expected_state(
    const IslandSettings& settings, OuterSnapshot first,
    const std::vector<std::pair<ExchangeId, std::vector<int>>>& all) {
  OuterState outer(settings.outer, settings.format, std::move(first));
  for (const auto& [exchange, islands] : all) {
    std::vector<double> sum(static_cast<size_t>(outer.elements(exchange.fragment)));
    for (const int island : islands) {
      std::vector<double> change(sum.size());
      const auto own = toy_change(island, exchange, static_cast<int64_t>(sum.size()));
      settings.format.decode(settings.format.encode(own), change);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += change[i];
    }
    for (double& value : sum) value /= static_cast<double>(islands.size());
    outer.apply({.exchange = exchange, .islands = islands, .bytes = settings.format.encode(sum)});
  }
  return outer.snapshot();
}

struct ToyIsland {
  int number = 0;
  std::string connection = {};
  std::unique_ptr<IslandTalk> talk = {};
  std::optional<OuterState> outer = {};
  bool cut = false;  // nothing comes or goes
  size_t sent_bytes = 0, heard_bytes = 0;
};

class HubWorld {
 public:
  explicit HubWorld(IslandSettings settings, std::filesystem::path store = {})
      : settings_(std::move(settings)),
        folder_(std::move(store)),
        record_(std::nullopt, [this](const std::string& text) { said.push_back(text); }) {
    start_hub();
  }

  void start_hub() {
    if (!folder_.empty()) store_.emplace(folder_, before_save);
    hub = std::make_unique<IslandHub>(
        HubOptions{.patience_seconds = 60, .saves_beside = saves_beside},
        store_ ? &*store_ : nullptr, record_, now);
  }
  void kill_hub() { hub.reset(); }

  // Says hello; `join` waits until it is in.
  ToyIsland& add(int number, const std::string& life = "life", int fragments = 2) {
    const std::string connection = "connection-" + std::to_string(++connections_);
    ToyIsland& island = islands[connection];
    island = {.number = number, .connection = connection};
    island.talk = std::make_unique<IslandTalk>(
        IslandTalkOptions{.island = number, .life = life, .settings = settings_}, now);
    island.talk->join(toy_state(fragments));
    return island;
  }
  ToyIsland& join(int number, const std::string& life = "life") {
    ToyIsland& island = add(number, life);
    TESSERA_CHECK(until([&] { return island.talk->has_joined(); }));
    begin(island);
    return island;
  }
  void begin(ToyIsland& island) const {
    std::optional<OuterSnapshot> newest = island.talk->take_newest();
    island.outer.emplace(settings_.outer, settings_.format, newest ? *newest : toy_state());
  }
  void kill(ToyIsland& island) { islands.erase(std::string(island.connection)); }
  // The same island, over another connection.
  void reconnect(ToyIsland& island) {
    auto node = islands.extract(island.connection);
    node.key() = "connection-" + std::to_string(++connections_);
    node.mapped().connection = node.key();
    islands.insert(std::move(node));
  }

  void send(ToyIsland& island, ExchangeId exchange) const {
    island.talk->report(exchange.round * 10, 2.0 + island.number, 100);
    island.talk->send({.exchange = exchange,
                       .bytes = settings_.format.encode(toy_change(
                           island.number, exchange, island.outer->elements(exchange.fragment)))});
  }
  // Waits for the outcome and applies it.
  IslandTalk::Outcome receive(ToyIsland& island, ExchangeId exchange) {
    std::optional<IslandTalk::Outcome> outcome;
    TESSERA_CHECK(
        until([&] { return (outcome = island.talk->take_outcome(exchange)).has_value(); }),
        "no outcome of round {} for island {}", exchange.round, island.number);
    if (!outcome->closed_without) island.outer->apply(outcome->combined);
    return *outcome;
  }
  void exchange_all(ExchangeId exchange, const std::vector<ToyIsland*>& all) {
    for (ToyIsland* island : all) send(*island, exchange);
    for (ToyIsland* island : all) receive(*island, exchange);
  }
  void take_newest(ToyIsland& island) {
    island.talk->ask_newest();
    std::optional<OuterSnapshot> newest;
    TESSERA_CHECK(until([&] { return (newest = island.talk->take_newest()).has_value(); }));
    island.outer->replace(std::move(*newest));
  }

  bool until(const std::function<bool()>& holds, double seconds = 200) {
    for (const double end = now + seconds; now < end;) {
      if (holds()) return true;
      tick();
    }
    return holds();
  }
  void pass(double seconds) {
    until([] { return false; }, seconds);
  }
  void tick() {
    now += 0.1;
    while (!under_way_.empty() && under_way_.begin()->first <= now) {
      const std::function<void()> arrive = under_way_.extract(under_way_.begin()).mapped();
      arrive();
    }
    std::vector<ToyIsland*> all;
    for (auto& [connection, island] : islands) all.push_back(&island);
    for (ToyIsland* island : all)
      for (const Message& message : island->talk->speak(now)) {
        island->sent_bytes += message.bytes.size();
        if (!island->cut && !is_lost()) send_to_hub(*island, message);
      }
    if (hub) deliver(hub->look(now));
  }
  void send_to_hub(const ToyIsland& island, const Message& message) {
    after_latency([this, message, from = island.connection, number = island.number] {
      if (hub) deliver(hub->take(from, island_name(number), over_wire(message), now));
    });
  }
  void deliver(const std::vector<HubReply>& replies) {
    for (const HubReply& reply : replies)
      after_latency([this, reply] {
        const auto found = islands.find(reply.to);
        if (found == islands.end() || found->second.cut || is_lost()) return;
        found->second.heard_bytes += reply.message.bytes.size();
        found->second.talk->hear(over_wire(reply.message), now);
      });
  }
  void after_latency(std::function<void()> arrive) {
    if (latency_seconds > 0)
      under_way_.emplace(now + latency_seconds, std::move(arrive));
    else
      arrive();
  }
  static Message over_wire(const Message& message) {
    return read_message(head_of(message), message.bytes);
  }
  bool is_lost() { return lose_every > 0 && ++sent_ % lose_every == 0; }
  bool was_said(const std::string& part) const {
    for (const std::string& text : said)
      if (text.find(part) != std::string::npos) return true;
    return false;
  }

  bool saves_beside = false;
  std::function<void()> before_save;
  double now = 0, latency_seconds = 0;
  int64_t lose_every = 0;
  std::vector<std::string> said;
  std::map<std::string, ToyIsland> islands;  // by connection
  std::unique_ptr<IslandHub> hub;

 private:
  IslandSettings settings_;
  std::filesystem::path folder_;
  HubRecord record_;
  std::optional<HubStore> store_;
  std::multimap<double, std::function<void()>> under_way_;  // by when it arrives
  int connections_ = 0;
  int64_t sent_ = 0;
};

}  // namespace tessera
