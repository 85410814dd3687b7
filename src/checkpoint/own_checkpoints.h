// SPDX-License-Identifier: Apache-2.0
// The checkpoints that a run may prune, as its writer knows them. Steps are added by what the run
// did, never by what is in the folder, so pruning reads nothing and cannot mistake another run's
// checkpoint for its own.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

namespace tessera {

struct Retention {
  int64_t keep = 2;        // the newest ones
  int64_t keep_every = 0;  // and those of every N steps; 0: none
};

class OwnCheckpoints {
 public:
  // The run continues from `step`, which it has just verified. Of `found`, the steps with its id on
  // disk, those up to `step` are the run's past; later ones belong to another history.
  void continue_from(int64_t step, const std::vector<int64_t>& found);
  void wrote(int64_t step);
  void does_not_verify(int64_t step) { good_.erase(step); }
  void removed(int64_t step);
  bool has(int64_t step) const { return own_.contains(step); }

  // Oldest first. The newest `keep` stay, counting those that this start has written and the one
  // that it resumed from.
  std::vector<int64_t> prunable(const Retention& retention) const;

 private:
  std::set<int64_t> own_;   // with the run's id: may be removed
  std::set<int64_t> good_;  // count as kept
};

}  // namespace tessera
