// SPDX-License-Identifier: Apache-2.0
// What islands that are threads of one process do together besides exchanging weights: they stop
// and save after the same step, resume from the same one, and end when one of them fails.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "train/agreement.h"

namespace tessera {

class IslandGroup {
 public:
  explicit IslandGroup(int islands);

  // Between two steps, without waiting: what any island is asked for happens after the first step
  // that none of them has left yet. Throws IslandFailed where one has failed.
  Agreement agree(int island, int64_t step, Agreement mine);
  // Waits for all islands; the least of what they say.
  int64_t least(int64_t value);
  void meet() { least(0); }

  // An island ended with an error: whoever waits, or comes to wait, gets an IslandFailed.
  void fail(int island, const std::string& why);

 private:
  void ask(std::optional<int64_t>& at, int island, int64_t step);
  void throw_if_failed() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;
  std::vector<int64_t> asked_;  // the step at which each island last asked
  std::optional<int64_t> stop_at_, save_at_;
  // Of a meeting.
  int64_t meeting_ = 0, least_ = 0, last_least_ = 0;
  int come_ = 0;
};

// One island of several.
struct IslandRole {
  int index = 0, islands = 1;
  class IslandLink* link = nullptr;       // null: another process of this island's job has it
  IslandGroup* group = nullptr;           // null: the islands are separate jobs
  class IslandsRecord* record = nullptr;  // of all islands together; null: kept elsewhere
};

}  // namespace tessera
