// SPDX-License-Identifier: Apache-2.0
// Fault injection, so that tests can kill a process exactly between any two writes. It is always
// compiled in; without faults there is no FaultPlan, and a fault point only tests a null pointer.
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
  // "rank=1,phase=write,step=3,nth=2,action=kill"; several are separated by ";". Without rank or
  // step the fault applies to any; nth counts how often one rank reaches the phase in one step.
  // Actions: kill, stop, abort, for the process; hang and wait, with milliseconds=N, for the
  // thread; no_space and io_error, as the result of a system call; rot: a wrong byte is written;
  // nan: the first number that an instruction reads; skip: a whole step is skipped.
  explicit FaultPlan(std::string_view text);

  // From any thread. Returns 0, or the errno with which the following system call must fail; EDOM:
  // nan, EILSEQ: rot, ECANCELED: skip.
  int at(FaultPhase phase, int rank, int64_t step);

 private:
  enum class Action : uint8_t { Kill, Stop, Abort, Hang, Wait, Error };
  struct Fault {
    int64_t rank = -1, step = -1;  // -1: any
    FaultPhase phase = FaultPhase::Load;
    int64_t nth = 1, milliseconds = 0;
    Action action = Action::Kill;
    int error = 0;
    // How often the phase was reached, for one (rank, step) at a time.
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
