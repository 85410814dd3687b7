// SPDX-License-Identifier: Apache-2.0
// When this rank leaves its part in the story of a failure: as it gives up, and before that when it
// is told to end or another's failure finds it busy, since it may get no other chance.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "comm/mpi/mpi_engine.h"
#include "comm/mpi/mpi_process.h"

namespace tessera {

class MpiStory {
 public:
  // Of one round.
  MpiStory(MpiEngine& engine, const MpiOptions& options);
  MpiStory(const MpiStory&) = delete;
  MpiStory& operator=(const MpiStory&) = delete;

  void begin();  // from here on there is a story to tell
  // Before the others learn of it.
  void gave_up(const MpiFailure& why);
  // Once all have left their parts that can.
  void end(bool failed);

 private:
  void watch(const std::stop_token& stop);
  void leave(const std::string& life, const MpiFailure* why);

  MpiEngine& engine_;
  const std::filesystem::path run_;  // empty: nowhere
  const std::function<bool()> told_to_end_;
  std::mutex mutex_;
  bool begun_ = false, gave_up_ = false;
  std::jthread watch_;  // last, so that it ends first
};

}  // namespace tessera
