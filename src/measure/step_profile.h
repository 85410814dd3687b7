// SPDX-License-Identifier: Apache-2.0
// Where a step's time goes: seconds per kind of op and phase, with the flops and bytes of the ops'
// own cost rules. Fed by an executor's observer.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>
#include <vector>

#include "exec/rank_executor.h"
#include "ir/op_def.h"

namespace tessera {

struct ProfileRow {
  std::string op, phase;
  std::string shape;  // of the operands; empty unless asked for
  int64_t calls = 0;  // these and below: per step
  double seconds = 0;
  double flops = 0, bytes = 0;
};

class StepProfile {
 public:
  void observe(const InstructionEvent& event);
  void begin_step() { ++steps_; }
  void clear();  // forgets the times, keeps what is known of instructions

  // Means over the steps seen, the longest first.
  std::vector<ProfileRow> rows(bool by_shape) const;

 private:
  struct Entry {
    std::string op;
    Phase phase;
    std::string shape;
    Cost cost;
    int64_t calls = 0;
    double seconds = 0;
  };
  // One per instruction of a class; made in the first step, so that later ones allocate nothing.
  std::unordered_map<const Instruction*, Entry> entries_;
  std::chrono::steady_clock::time_point begin_{};
  int steps_ = 0;
};

}  // namespace tessera
