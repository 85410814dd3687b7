// SPDX-License-Identifier: Apache-2.0
// Failures on purpose, so that tests can kill exactly between any two writes. Compiled in; where
// nobody asks for any there is no FaultPlan, and a fault point is a test of a null pointer.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class FaultPhase : uint8_t {
  Load,
  Forward,
  Collective,
  Backward,
  Update,
  Snapshot,
  Write,
  Fsync,
  Rename,
  Manifest,
  Prune,
  Exit,
  Step
};
inline constexpr int kNumFaultPhases = 13;
std::string_view name(FaultPhase phase);  // "load"

class FaultPlan {
 public:
  // "rank=1,phase=write,step=3,nth=2,action=kill"; several are parted by ";". Without rank or step
  // any will do; nth counts the times that one rank comes by in one step. Actions: kill, stop,
  // abort, which take the process; hang, which takes the thread; an error of the system for phases
  // that call it: no_space, io_error; rot: what is written is not what was to be; nan, of the first
  // number that an instruction reads; or skip, of a whole step.
  explicit FaultPlan(std::string_view text);

  // From any thread. Returns 0, or the errno that the call behind it shall fail with; EDOM: nan,
  // EILSEQ: rot, ECANCELED: skip.
  int at(FaultPhase phase, int rank, int64_t step);

 private:
  enum class Action : uint8_t { Kill, Stop, Abort, Hang, Error };
  struct Fault {
    int64_t rank = -1, step = -1;  // -1: any
    FaultPhase phase = FaultPhase::Load;
    int64_t nth = 1;
    Action action = Action::Kill;
    int error = 0;
    // Of one (rank, step) at a time: how often it came by.
    int64_t seen_rank = -1, seen_step = -1, seen = 0;
  };
  static Fault parse(std::string_view text);
  static void set(Fault& fault, std::string_view key, std::string_view value);
  const Fault* struck(FaultPhase phase, int rank, int64_t step);  // null: none

  std::mutex mutex_;
  std::vector<Fault> faults_;
};

inline int fault_at(FaultPlan* faults, FaultPhase phase, int rank, int64_t step) {
  return faults ? faults->at(phase, rank, step) : 0;
}

}  // namespace tessera
