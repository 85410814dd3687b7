// SPDX-License-Identifier: Apache-2.0
// Simulates one rank's script: a compute stream, one communication stream for each level of the
// topology and one for each direction of the link to the host, all in order. It proceeds until it
// waits for ranks that run another program and have not arrived yet.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/instruction_times.h"
#include "sim/stage_hops.h"

namespace tessera {

// A collective whose members run different programs.
struct Crossing {
  int arrived = 0;
  double ready = 0;    // when the last member started it
  double seconds = 0;  // of the slowest member
};
// By group, or channel between two stages, and number among those of the same.
using Crossings = std::map<std::pair<std::string, int64_t>, Crossing>;

class RankWalk {
 public:
  RankWalk(const Program& program, const Cluster& cluster, const SimulateOptions& options);
  // The same on another script than the program's, which must outlive the walk.
  RankWalk(const Program& program, const Script& script, const Cluster& cluster,
           const SimulateOptions& options);

  // Returns false if it made no progress; `members` start a collective that crosses programs.
  bool advance(Crossings& crossings, int members);
  // Begins the script again, where it ended, without slices of the second time.
  void begin_again();
  const StepTimes& times() const { return result_.times; }
  bool finished() const { return call_ == script_.calls.size(); }
  double now() const { return now_; }
  double seconds_under_way() const;  // of collectives that are started and not yet waited for
  SimulatedRank take() { return std::move(result_); }

 private:
  // The destination of a started collective or copy: arena and offset.
  using Place = std::tuple<MemorySpace, Lifetime, int64_t>;
  struct Flying {
    double end = 0;  // known at the start if members are identical and links move the bytes
    double seconds = 0;
    std::pair<std::string, int64_t> crossing = {};  // empty axes: none
    int members = 0;                                // of the crossing; 0: one rank of each program
    size_t slice = 0;                               // of the trace's collectives
    const Instruction* instruction = nullptr;
    size_t level = 0;
    bool late = false;  // it starts when it is waited for

    bool crosses() const { return !crossing.first.empty(); }
  };

  bool step(const ScriptCall& call, const Instruction& instruction, const TimedInstruction& timed,
            Crossings& crossings, int members);
  void launch(const TimedInstruction& timed);
  void repeat_rest(int class_index, RoutineKind routine);
  void run_kernel(const ScriptCall& call, const Instruction& instruction,
                  const TimedInstruction& timed);
  Flying start(const ScriptCall& call, const Instruction& instruction,
               const TimedInstruction& timed, Crossings& crossings);
  double on_link(size_t level, double seconds);
  bool takes_links(const Instruction& instruction) const;
  double send(Flying& flying);
  bool finish(Flying& flying, Crossings& crossings, int members);
  void count_stall(const Flying& flying, double bubble);
  Place place_of(const ScriptCall& call, const Instruction& instruction) const;
  size_t keep(std::vector<Slice>& slices, const Slice& slice);

  const Program& program_;
  const Cluster& cluster_;
  const Script& script_;
  bool keep_slices_, count_transfers_;
  InstructionTimes times_;
  const StageHops hops_;
  size_t call_ = 0, instruction_ = 0;
  double now_ = 0, call_begin_ = 0;
  const double eager_seconds_;
  const bool steps_drift_, late_sums_, blocking_sends_;
  const bool is_free_;  // all but kernels of unit cost
  const double repeats_;
  double host_ = 0;  // when an eager host has launched what comes next
  // By level: when collectives, and sends, have ended. Then copies from and to the host.
  std::vector<double> link_free_, sent_;
  std::map<Place, Flying> flying_;          // started, not yet waited for
  std::vector<Flying> blocked_;             // a collective that this instruction itself waits for
  std::map<std::string, int64_t> numbers_;  // crossings so far, by axes
  struct OnLink {
    double begin, end;
    const Instruction* instruction;
  };
  std::vector<std::deque<OnLink>> on_links_;  // by level, one after the other; where counted
  SimulatedRank result_;
};

}  // namespace tessera
