// SPDX-License-Identifier: Apache-2.0
// Which islands take part, what has come for each exchange, and when one may close: once every
// member has sent its change, or `patience` after the first one came. Exchanges close in order, and
// each once. Pure: no threads, no sockets, the time is passed in.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "islands/island_link.h"
#include "islands/wire_format.h"

namespace tessera {

struct RoundTableOptions {
  WireFormat format;
  std::vector<int64_t> elements = {};  // by fragment
  double patience_seconds = std::numeric_limits<double>::infinity();
};

class RoundTable {
 public:
  // The first exchange is `next`: earlier ones count as closed.
  explicit RoundTable(RoundTableOptions options, ExchangeId next = {});

  // From the next exchange on, the others wait for it; but not before `first`.
  void join(int island, ExchangeId first = {});
  // It gave up the exchanges before `first`: nobody waits for it there, and what it sent for one
  // that is still open does not count.
  void offers_from(int island, ExchangeId first);
  bool has_change(int island, ExchangeId exchange) const;
  // Nobody waits for it any longer; what it has sent counts.
  void leave(int island);
  bool is_member(int island) const { return members_.contains(island); }
  std::vector<int> members() const;
  ExchangeId next() const { return next_; }

  enum class Put : uint8_t { Taken, Again, TooLate };
  // From a member. `Again`: that island's change has come before, and this one is ignored. A
  // UserError where it is not a change of that fragment.
  Put put(int island, FragmentChange change, double now_seconds);

  // The combined changes of the exchanges that close now, in order.
  std::vector<CombinedChange> close(double now_seconds);
  // When the next exchange closes even if nothing comes; empty: nothing has come.
  std::optional<double> closes_at() const;
  // Members that the next exchange waits for; empty where nothing has come.
  std::vector<int> missing() const;

 private:
  struct Open {
    double first_seconds = 0;
    std::map<int, std::vector<double>> changes = {};  // decoded, by island
  };
  bool complete(ExchangeId exchange, const Open& open) const;
  CombinedChange combine(ExchangeId exchange, const Open& open) const;

  RoundTableOptions options_;
  ExchangeId next_;
  std::map<int, ExchangeId> members_;  // and their first exchange
  std::map<ExchangeId, Open> open_;
};

}  // namespace tessera
