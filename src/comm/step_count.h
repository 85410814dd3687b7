// SPDX-License-Identifier: Apache-2.0
// The steps of a rank, for the ranks that wait for it. All ranks run the same collectives in each
// step, so a rank that has begun a later step than the waiting one has skipped the collective.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace tessera {

struct StepCount {
  std::atomic<int64_t> step{-1};  // that it is at; -1: none yet
  std::atomic<int64_t> begun{0};  // how many; a run that is rewound counts on

  void begin(int64_t at) {
    step = at;
    ++begun;
  }
};

inline std::string left_out_text(int rank, int64_t its_step, int64_t own_step) {
  return fmt::format(
      "rank {} is at step {} without it, but this rank is at step {}: they no longer "
      "train the same model",
      rank, its_step, own_step);
}

}  // namespace tessera
