// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/own_checkpoints.h"

#include <algorithm>
#include <iterator>

namespace tessera {

void OwnCheckpoints::continue_from(int64_t step, const std::vector<int64_t>& found) {
  own_.clear();
  for (const int64_t each : found)
    if (each <= step) own_.insert(each);
  good_.erase(good_.upper_bound(step), good_.end());
  good_.insert(step);
}

void OwnCheckpoints::wrote(int64_t step) {
  own_.insert(step);
  good_.insert(step);
}

void OwnCheckpoints::removed(int64_t step) {
  own_.erase(step);
  good_.erase(step);
}

std::vector<int64_t> OwnCheckpoints::prunable(const Retention& retention) const {
  std::vector<int64_t> steps;
  const int64_t keep = std::max<int64_t>(retention.keep, 1);
  if (static_cast<int64_t>(good_.size()) < keep) return steps;
  const int64_t oldest_kept = *std::next(good_.rbegin(), keep - 1);
  for (const int64_t step : own_) {
    const bool stays = retention.keep_every > 0 && step % retention.keep_every == 0;
    if (step < oldest_kept && !stays) steps.push_back(step);
  }
  return steps;
}

}  // namespace tessera
