// SPDX-License-Identifier: Apache-2.0
// One island's part in local SGD: after which step it sends which fragment of its parameters, and
// when it applies what all of them became. Everything that it needs to go on with the same bits is
// in its checkpoints.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/side_tensor.h"
#include "checkpoint/state_source.h"
#include "comm/communicator.h"
#include "config/config.h"
#include "islands/island_link.h"
#include "islands/outer_state.h"
#include "record/exchange_record.h"
#include "train/fragment_layout.h"

namespace tessera {

// Fp64 where the config computes in it.
WireFormat island_wire_format(const Config& config);
OuterOptions outer_options(const IslandsConfig& islands);

struct IslandExchangeOptions {
  IslandsConfig islands;
  WireFormat format;
  int64_t steps = 0;           // of the run: the last one exchanges everything
  IslandLink* link = nullptr;  // null: another process of this job has it
  Communicator* job =
      nullptr;  // the island's processes, of which the first has the link; null: one
};

class IslandExchange {
 public:
  // All that it is given must outlive it. All processes of a job call it together.
  IslandExchange(Executor& executor, IslandExchangeOptions options);

  // Once the executor has its first or resumed states, after `step`. Each returns the step to go on
  // from where the others are ahead of this island and it has taken their weights.
  std::optional<int64_t> begin(int64_t step);
  std::optional<int64_t> after_step(int64_t step);

  // What the others are told: of a step, and that this island ends.
  void report(int64_t step, double loss, int64_t tokens);
  void leave();

  // For the record, since the last call.
  std::vector<ExchangeRecord> take_records();

  SideTensors save() const;  // empty where another process has the link
  // From a checkpoint, before `begin`.
  void restore(const StateSource& saved);

  // The outer state; null where another process has it.
  const OuterState* outer() const { return outer_ ? &*outer_ : nullptr; }

 private:
  struct InFlight {
    ExchangeId exchange;
    int64_t sent_step = 0;
    std::vector<double> own = {};  // when it was sent; of the process that has the link
    double change_norm = 0;
  };
  bool leads() const { return options_.link != nullptr; }
  bool waits() const { return options_.islands.delay == 0; }
  std::string from_leader(std::string text) const;
  int64_t offset(int fragment) const;
  int64_t step_before(ExchangeId next) const;
  OuterSnapshot first_snapshot() const;
  void send(int fragment, int64_t step);
  void send_change(const InFlight& sent);
  std::optional<int64_t> settle_until(int64_t last_sent_step, int64_t step);
  std::optional<int64_t> settle(int64_t step);
  std::optional<int64_t> adopt(OuterSnapshot newest, int64_t step);
  void write_fragment(int fragment, std::vector<double> values, bool averages);

  Executor& executor_;
  IslandExchangeOptions options_;
  FragmentLayout layout_;
  std::optional<OuterState> outer_;
  ExchangeId next_;                  // to be sent
  std::vector<InFlight> in_flight_;  // oldest first
  std::vector<ExchangeRecord> records_;
  bool restored_ = false;
};

}  // namespace tessera
