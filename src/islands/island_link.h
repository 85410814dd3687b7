// SPDX-License-Identifier: Apache-2.0
// What an island says to the others and hears from them, whatever carries it: threads of one
// process, or a hub between machines. Every H steps each of F fragments of the parameters is
// exchanged once; an exchange has a round and a fragment, and all islands do them in this order.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

struct ExchangeId {
  int64_t round = 0;
  int fragment = 0;

  auto operator<=>(const ExchangeId&) const = default;
  ExchangeId after(int fragments) const {
    return fragment + 1 < fragments ? ExchangeId{round, fragment + 1} : ExchangeId{round + 1, 0};
  }
};

// Outer parameters minus an island's own, encoded for the wire.
struct FragmentChange {
  ExchangeId exchange;
  std::vector<std::byte> bytes = {};
};

// The mean of the changes of some islands, encoded for the wire.
struct CombinedChange {
  ExchangeId exchange;
  std::vector<int> islands = {};  // whose, ascending
  std::vector<std::byte> bytes = {};
};

// What a late joiner needs; by fragment, in the dtype of the master weights.
struct OuterSnapshot {
  ExchangeId next = {};  // all exchanges before it are in it
  std::vector<std::vector<std::byte>> parameters = {};
  std::vector<std::vector<std::byte>> momentum = {};  // empty where the outer optimizer has none
};

class IslandLink {  // of one island
 public:
  virtual ~IslandLink() = default;

  // Before anything else. The newest outer state, where the others have begun; none: all begin with
  // `first`.
  virtual std::optional<OuterSnapshot> join(const OuterSnapshot& first) = 0;
  // Returns at once: the change travels while training goes on.
  virtual void send(FragmentChange change) = 0;
  // Waits. Empty: the exchange was closed without this island, which lagged; it takes `newest()`
  // and goes on from there. A change of no islands: nobody can be reached; it applies nothing, goes
  // on alone, and what it sends next is a change since the same outer parameters.
  virtual std::optional<CombinedChange> receive(ExchangeId exchange) = 0;
  virtual OuterSnapshot newest() = 0;
  // After a step: what the others are told of it.
  virtual void report(int64_t /*step*/, double /*loss*/, int64_t /*tokens*/) {}
  // At the end of training: nobody need wait for it.
  virtual void leave() {}
};

}  // namespace tessera
