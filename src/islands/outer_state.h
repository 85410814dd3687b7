// SPDX-License-Identifier: Apache-2.0
// The outer optimizer's parameters and momentum. Every island and the hub keep one and apply the
// same combined changes with this code, so that all have the same bits.
#pragma once

#include <span>
#include <vector>

#include "islands/island_link.h"
#include "islands/island_options.h"
#include "islands/wire_format.h"

namespace tessera {

class OuterState {
 public:
  // Momentum that `first` does not have begins at zero.
  OuterState(OuterOptions options, WireFormat format, OuterSnapshot first);

  int fragments() const { return static_cast<int>(state_.parameters.size()); }
  int64_t elements(int fragment) const;
  std::vector<double> parameters(int fragment) const;
  // The exchanges before `next` are in it, later ones are not.
  ExchangeId next() const { return state_.next; }
  const OuterSnapshot& snapshot() const { return state_; }

  // A change that is not older than `next`: one that is would count twice.
  void apply(const CombinedChange& change);
  void replace(OuterSnapshot newest);

 private:
  OuterOptions options_;
  WireFormat format_;
  OuterSnapshot state_;
};

// The change that an island sends: outer parameters minus its own.
std::vector<double> change_between(std::span<const double> outer, std::span<const double> own);

}  // namespace tessera
