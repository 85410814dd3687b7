// SPDX-License-Identifier: Apache-2.0
// The collectives that a rank has started and not yet waited for, by the buffer they fill.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/error.h"

namespace tessera {

class InFlight {
 public:
  static constexpr size_t kTickets = 2;  // of one node: a shift sends and receives

  // What the next one is for, in messages; empty: its op's name is enough.
  std::string title = {};

  InFlight() {
    started_.reserve(256);
    left_.reserve(256);
  }

  void add(const std::byte* buffer, Communicator& group, std::span<const Ticket> tickets) {
    Started started{.buffer = buffer, .group = &group, .tickets = {}, .count = tickets.size()};
    std::copy(tickets.begin(), tickets.end(), started.tickets.begin());
    started_.push_back(started);
  }

  // Nothing where the collective was done at once (one rank).
  void wait(const std::byte* buffer) {
    for (size_t i = 0; i < started_.size(); ++i) {
      if (started_[i].buffer != buffer) continue;
      const Started started = started_[i];
      started_.erase(started_.begin() + static_cast<std::ptrdiff_t>(i));
      for (size_t t = 0; t < started.count; ++t) started.group->wait(started.tickets[t]);
      return;
    }
  }

  bool may_wait(const std::byte* buffer) const {
    for (const Started& each : started_)
      if (each.buffer == buffer)
        return std::all_of(each.tickets.begin(), each.tickets.begin() + each.count,
                           [&](Ticket ticket) { return each.group->may_wait(ticket); });
    return true;
  }

  bool empty() const { return started_.empty() && left_.empty(); }

  // Messages of a rank to itself, in order.
  void leave(int channel, const std::byte* data) { left_.push_back({channel, data}); }
  const std::byte* collect(int channel) {
    const auto found = std::find_if(left_.begin(), left_.end(),
                                    [&](const Left& left) { return left.channel == channel; });
    TESSERA_CHECK(found != left_.end(), "nothing was sent on channel {}", channel);
    const std::byte* data = found->data;
    left_.erase(found);
    return data;
  }

 private:
  struct Started {
    const std::byte* buffer;
    Communicator* group;
    std::array<Ticket, kTickets> tickets;
    size_t count;
  };
  struct Left {
    int channel;
    const std::byte* data;
  };
  std::vector<Started> started_;
  std::vector<Left> left_;
};

}  // namespace tessera
