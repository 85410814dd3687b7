// SPDX-License-Identifier: Apache-2.0
// Islands as threads of one process: a round table under a lock. Nobody lags here: an exchange
// closes when all members have sent, and when one island fails, the others end too.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "islands/outer_state.h"
#include "islands/round_table.h"

namespace tessera {

// Another island of this process failed; the cause is thrown there.
class IslandFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class LocalIslands {
 public:
  // `late`: of the last ones, how many are no members before they join.
  LocalIslands(int islands, OuterOptions options, WireFormat format, int late = 0);
  ~LocalIslands();

  // Of one island, to be used by its thread; `this` must outlive it.
  std::unique_ptr<IslandLink> link(int island);
  // Whoever waits, or comes to wait, gets an IslandFailed.
  void fail(int island, const std::string& why);
  bool failed() const;

 private:
  class Link;
  std::optional<OuterSnapshot> join(int island, const OuterSnapshot& first);
  void send(int island, FragmentChange change);
  CombinedChange receive(int island, ExchangeId exchange);
  OuterSnapshot newest();
  void throw_if_failed() const;

  const int islands_, late_;
  const OuterOptions options_;
  const WireFormat format_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;
  std::optional<RoundTable> table_;  // from the first join on, as the next
  std::optional<OuterState> outer_;
  struct Closed {
    CombinedChange change;
    int takers = 0;  // islands that have not taken it yet
  };
  std::map<ExchangeId, Closed> closed_;
};

}  // namespace tessera
