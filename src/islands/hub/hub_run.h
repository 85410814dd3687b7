// SPDX-License-Identifier: Apache-2.0
// The run as the hub knows it: settings, outer state, the round table and the newest combined
// changes. What is said about an exchange is on disk before: until then it counts as open, and no
// other closes. It knows islands by their numbers alone.
#pragma once

#include <future>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "islands/hub/hub_record.h"
#include "islands/hub/hub_store.h"
#include "islands/hub/island_settings.h"
#include "islands/hub/message.h"
#include "islands/outer_state.h"
#include "islands/round_table.h"

namespace tessera {

class HubRun {
 public:
  // `store` may be null: then nothing outlives the process.
  HubRun(double patience_seconds, bool saves_beside, HubStore* store, HubRecord& record);

  // False: the store has no run.
  bool restore();
  void begin(const std::map<std::string, std::string>& settings, OuterSnapshot first);
  bool has_begun() const { return outer_.has_value(); }

  const std::string& life() const { return state_.life; }
  const std::map<std::string, std::string>& settings() const { return state_.settings; }
  int islands() const { return settings_.islands; }
  const OuterSnapshot& outer() const { return outer_->snapshot(); }
  const std::vector<int64_t>& rounds() const { return state_.rounds; }
  std::vector<int> members() const { return table_ ? table_->members() : std::vector<int>(); }
  std::vector<int> saved_members() const { return state_.members; }
  int64_t change_bytes(int fragment) const;
  // Whether a state with that digest and that next exchange is the newest.
  bool is_newest(ExchangeId next, const std::string& digest) const;
  std::string name_of(ExchangeId exchange) const;  // "round 3, fragment 1"

  // The others wait for it from the next exchange on, but not before `first`.
  void join(int64_t island, ExchangeId first = {}) {
    table_->join(static_cast<int>(island), first);
  }
  void offers_from(int64_t island, ExchangeId first) {
    table_->offers_from(static_cast<int>(island), first);
  }
  // Of an exchange that islands still count as open.
  bool has_change(int64_t island, ExchangeId exchange) const;
  void leave(int64_t island);
  // Whether a change for the exchange that starts from outer weights of round `base` can count yet.
  bool waits_for(ExchangeId exchange, int64_t base) const;
  void put(int64_t island, FragmentChange change, double now);

  struct Closed {
    CombinedChange change;
    std::vector<int> members;  // that could have taken part
    double waited_seconds = 0;
  };
  // Those that are closed now: applied, and saved.
  std::vector<Closed> close(double now);
  bool is_saving() const { return saving_.valid(); }

  // Answers: what became of an exchange; what the newest state is; a part of either.
  Message fate(int64_t island, ExchangeId exchange, int64_t base);
  Message newest() const;
  Message part(const Message& wanted);

 private:
  RoundTable make_table() const;
  std::string state_name() const;
  const std::vector<std::byte>* find_blob(const Message& wanted) const;
  const std::string& digest_of_blob(BlobKind blob, int64_t fragment,
                                    const std::vector<std::byte>& bytes);
  const Closed* find_unsaved(ExchangeId exchange) const;
  std::vector<Closed> combine(double now);
  void begin_to_save(std::vector<int> fragments);
  void finish_saving();

  double patience_seconds_;
  bool saves_beside_;
  HubStore* store_;
  HubRecord& record_;
  HubState state_;
  IslandSettings settings_;
  std::optional<OuterState> outer_;
  std::optional<RoundTable> table_;
  std::map<ExchangeId, double> first_arrivals_;
  mutable std::string state_digest_;  // of the newest state; empty: not computed
  std::map<std::pair<BlobKind, int64_t>, std::string> digests_;
  std::vector<Closed> unsaved_;
  // Why it failed; empty: it did not. What it reads stays as it is until it has ended.
  std::future<std::string> saving_;
};

}  // namespace tessera
