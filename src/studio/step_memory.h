// SPDX-License-Identifier: Apache-2.0
// What lies in a rank's memory while its step runs, call by call, from the plan that executors
// allocate. States, windows and scratch have their bytes all the time; what microbatches keep comes
// and goes within the slot arena.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace tessera {

// Bytes of the slot arena that one microbatch has in a stage or segment, from one call to another.
struct KeptActivations {
  Repeat repeat = Repeat::PerSlot;
  // The segment of what is kept, the block of what goes to the host and back, the stage of what
  // goes between stages.
  int unit = 0;
  int microbatch = 0;
  bool rebuilt = false;  // or back from the host
  int64_t offset = 0, bytes = 0;
  size_t begin = 0, end = 0;  // positions of calls, both inclusive
};

class StepMemory {
 public:
  explicit StepMemory(const Program& program);

  // By position of a call in the step's script.
  const std::vector<int64_t>& kept_bytes() const { return kept_; }  // sum of what is alive
  // How far the slot arena is filled: what is alive, and the gaps below it.
  const std::vector<int64_t>& filled_bytes() const { return filled_; }
  size_t fullest_call() const;  // the first of the fullest
  // Of the whole rank: the largest over all calls is peak_bytes().
  int64_t bytes_at(size_t call) const;
  std::vector<KeptActivations> alive_at(size_t call) const;

  // Scratch of one instruction: what lives while it runs, its workspace included.
  int64_t scratch_at(size_t call, size_t instruction) const;

 private:
  const Program& program_;
  const Script& script_;
  std::vector<KeptActivations> all_;
  std::vector<int64_t> kept_, filled_;
};

}  // namespace tessera
