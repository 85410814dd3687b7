// SPDX-License-Identifier: Apache-2.0
// The collectives of one rank in one group between start and wait. A place is reused as soon as it
// is free, in any order, and there are as many places as collectives were ever in flight at once:
// a step allocates only when it has more in flight than every step before it.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "core/error.h"

namespace tessera {

// One thread may take while another finds and gives back. Operations never move.
template <typename Operation>
class TicketTable {
 public:
  static constexpr Ticket kMostPlaces = 2000;  // of one group: those of a step are a few hundred

  // A place that is in no other use; `make()` gives a new Operation where there is none.
  template <typename Make>
  Ticket take(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      TESSERA_CHECK(places_.size() < size_t{kMostPlaces}, "{} collectives in flight",
                    places_.size());
      free_.reserve(places_.size() + 1);
      free_.push_back(places_.size());
      places_.push_back({make(), kNoTicket});
    }
    const size_t place = free_.back();
    free_.pop_back();
    places_[place].ticket = uses_++ * kMostPlaces + static_cast<Ticket>(place);
    return places_[place].ticket;
  }

  // Null: not in flight.
  Operation* find(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<size_t>(place_of(ticket));
    if (place >= places_.size() || places_[place].ticket != ticket) return nullptr;
    return places_[place].operation.get();
  }

  void give_back(Ticket ticket) {
    const std::lock_guard lock(mutex_);
    const auto place = static_cast<size_t>(place_of(ticket));
    places_[place].ticket = kNoTicket;
    free_.push_back(place);
  }

  // Small, and different from those of all others in flight.
  static int64_t place_of(Ticket ticket) { return ticket % kMostPlaces; }

  bool has_any_in_flight() const { return free_.size() < places_.size(); }
  template <typename Use>
  void for_each_in_flight(const Use& use) {
    for (Place& each : places_)
      if (each.ticket != kNoTicket) use(*each.operation);
  }
  std::vector<std::unique_ptr<Operation>> release() {
    std::vector<std::unique_ptr<Operation>> all;
    for (Place& each : places_) all.push_back(std::move(each.operation));
    places_.clear();
    free_.clear();
    return all;
  }

 private:
  static constexpr Ticket kNoTicket = -1;
  struct Place {
    std::unique_ptr<Operation> operation;
    Ticket ticket;  // of the one in flight here
  };
  std::mutex mutex_;
  std::vector<Place> places_;
  std::vector<size_t> free_;
  Ticket uses_ = 0;
};

}  // namespace tessera
