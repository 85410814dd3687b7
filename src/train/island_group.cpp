// SPDX-License-Identifier: Apache-2.0
#include "train/island_group.h"

#include <algorithm>

#include "islands/local_islands.h"

namespace tessera {

IslandGroup::IslandGroup(int islands) : asked_(static_cast<size_t>(islands), -1) {}

void IslandGroup::throw_if_failed() const {
  if (!failure_.empty()) throw IslandFailed(failure_);
}

// Those that have asked at a step are in the next one by now.
void IslandGroup::ask(std::optional<int64_t>& at, int island, int64_t step) {
  if (at) return;
  at = step;
  for (size_t i = 0; i < asked_.size(); ++i)
    if (i != static_cast<size_t>(island)) at = std::max(*at, asked_[i] + 1);
}

Agreement IslandGroup::agree(int island, int64_t step, Agreement mine) {
  const std::lock_guard lock(mutex_);
  throw_if_failed();
  if (mine.stop) ask(stop_at_, island, step);
  if (mine.save) ask(save_at_, island, step);
  asked_[static_cast<size_t>(island)] = step;
  const Agreement agreed{.stop = stop_at_ && step >= *stop_at_, .save = save_at_ == step};
  if (save_at_ && std::ranges::all_of(asked_, [&](int64_t each) { return each >= *save_at_; }))
    save_at_.reset();
  return agreed;
}

int64_t IslandGroup::least(int64_t value) {
  std::unique_lock lock(mutex_);
  throw_if_failed();
  const int64_t meeting = meeting_;
  least_ = come_ == 0 ? value : std::min(least_, value);
  if (++come_ == static_cast<int>(asked_.size())) {
    come_ = 0;
    last_least_ = least_;
    ++meeting_;
    changed_.notify_all();
    return last_least_;
  }
  changed_.wait(lock, [&] { return meeting_ > meeting || !failure_.empty(); });
  if (meeting_ == meeting) throw_if_failed();
  return last_least_;
}

void IslandGroup::fail(int island, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = fmt::format("island {} failed: {}", island, why);
  changed_.notify_all();
}

}  // namespace tessera
