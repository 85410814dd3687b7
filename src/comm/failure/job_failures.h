// SPDX-License-Identifier: Apache-2.0
// What a world of ranks on the host does for those that meet elsewhere, such as on GPUs: it writes
// their part of a failure report, and tells them of a failure that they cannot see.
#pragma once

#include <functional>
#include <optional>

#include "comm/failure/peer_error.h"
#include "comm/failure/rank_report.h"

namespace tessera {

class JobFailures {
 public:
  virtual ~JobFailures() = default;
  // From now on every report of this rank is given to `add` before it is written, on any thread;
  // empty: to nobody.
  virtual void also_report(std::function<void(RankReport&)> add) = 0;
  // What another rank has told of its failure; none: nothing.
  virtual std::optional<PeerError> told_of_failure() const = 0;
};

}  // namespace tessera
