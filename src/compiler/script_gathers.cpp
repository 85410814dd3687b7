// SPDX-License-Identifier: Apache-2.0
#include "compiler/script_gathers.h"

#include <algorithm>
#include <set>

#include "compiler/scripts.h"

namespace tessera {
namespace {

using Blocks = std::set<int>;

// By call: the blocks whose weights it reads and that are not there before they are gathered.
std::vector<Blocks> needs_of(const Script& script, const Program& program, FlatUses& uses) {
  std::vector<Blocks> needs;
  for (const ScriptCall& call : script.calls) {
    Blocks& blocks = needs.emplace_back();
    for (const int block : uses.weights_read(call))
      if (has_routine(program, RoutineKind::Gather, block)) blocks.insert(block);
  }
  return needs;
}

// Weights that a run of several microbatches needs again.
class HeldInRuns {
 public:
  HeldInRuns(const Script& script, const std::vector<int>& runs, const std::vector<Blocks>& needs)
      : runs_(runs) {
    for (size_t i = 0; i < runs.size(); ++i)
      for (const int block : needs[i]) {
        last_[{runs[i], block}] = i;
        microbatches_[runs[i]].insert(script.calls[i].microbatch);
      }
  }

  bool stays(int block, size_t call) const {
    if (runs_.empty()) return false;
    const auto last = last_.find({runs_[call], block});
    return last != last_.end() && last->second > call && microbatches_.at(runs_[call]).size() > 1;
  }

 private:
  const std::vector<int>& runs_;
  std::map<std::pair<int, int>, size_t> last_;  // by run and block: the last call that needs it
  std::map<int, std::set<int>> microbatches_;   // by run
};

}  // namespace

void add_gathers(Script& script, const std::vector<int>& runs, const Program& program,
                 FlatUses& uses) {
  const std::vector<Blocks> needs = needs_of(script, program, uses);
  if (std::all_of(needs.begin(), needs.end(), [](const Blocks& blocks) { return blocks.empty(); }))
    return;
  const HeldInRuns held_in_runs(script, runs, needs);
  const auto next_need = [&](size_t i) {
    while (i < needs.size() && needs[i].empty()) ++i;
    return i;
  };
  const auto needs_at = [&](size_t i) { return i < needs.size() ? needs[i] : Blocks{}; };
  Blocks brought, held, there;  // from the host; gathered; waited for
  std::vector<ScriptCall> calls;
  for (size_t i = 0; i < needs.size(); ++i) {
    const int microbatch = script.calls[i].microbatch;
    if (!needs[i].empty()) {
      const size_t coming = next_need(i + 1);
      const Blocks next = needs_at(coming), after = needs_at(next_need(coming + 1));
      for (const Blocks* wanted : {needs.data() + i, &next, &after})
        for (const int block : *wanted)
          if (has_routine(program, RoutineKind::WeightsIn, block) && !held.contains(block) &&
              brought.insert(block).second)
            calls.push_back(make_call(program, RoutineKind::WeightsIn, block, microbatch));
      for (const Blocks* wanted : {needs.data() + i, &next})
        for (const int block : *wanted)
          if (held.insert(block).second) {
            calls.push_back(make_call(program, RoutineKind::Gather, block, microbatch));
            brought.erase(block);
          }
      for (const int block : needs[i])
        if (there.insert(block).second && has_routine(program, RoutineKind::GatherWait, block))
          calls.push_back(make_call(program, RoutineKind::GatherWait, block, microbatch));
      const auto is_done_with = [&](int block) {
        return !next.contains(block) && !held_in_runs.stays(block, i);
      };
      std::erase_if(there, is_done_with);
      std::erase_if(held, is_done_with);
    }
    calls.push_back(std::move(script.calls[i]));
  }
  script.calls = std::move(calls);
}

}  // namespace tessera
