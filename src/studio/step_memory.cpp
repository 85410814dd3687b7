// SPDX-License-Identifier: Apache-2.0
#include "studio/step_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/memory.h"
#include "ir/module.h"

namespace tessera {
namespace {

bool is_kept(Repeat repeat) {
  return repeat == Repeat::PerSlot || repeat == Repeat::StreamIn || repeat == Repeat::StreamOut ||
         repeat == Repeat::Checkpoint || repeat == Repeat::Away;
}

using KeptKey = std::tuple<int, int, Repeat, bool>;  // unit, microbatch, repeat, rebuilt

// How far into its bytes of each kind the routine of a block reaches.
std::map<Repeat, int64_t> reach_of(const Program& program, const ScriptCall& call) {
  const ProgramBlock& block = program.blocks[static_cast<size_t>(call.block)];
  const ProgramClass& program_class = program.class_of(block);
  std::map<Repeat, int64_t> reach;
  for (const Instruction& instruction : program_class.routine(call.routine))
    for (const std::span<const int> buffers : {reads(instruction), writes(instruction)})
      for (const int buffer : buffers) {
        const auto at = static_cast<size_t>(buffer);
        if (!is_kept(block.repeats[at])) continue;
        int64_t& end = reach[block.repeats[at]];
        end = std::max(end, align_up(block.offsets[at] + program_class.buffers[at].type.bytes()));
      }
  return reach;
}

}  // namespace

StepMemory::StepMemory(const Program& program)
    : program_(program), script_(program.script("train_step")) {
  std::map<KeptKey, size_t> known;
  std::set<std::pair<int, int>> leave;  // blocks and microbatches that go to the host
  for (const ScriptCall& call : script_.calls)
    if (call.routine == RoutineKind::ActivationsOut) leave.insert({call.block, call.microbatch});
  std::map<std::pair<int, RoutineKind>, std::map<Repeat, int64_t>> reaches;
  for (size_t i = 0; i < script_.calls.size(); ++i) {
    const ScriptCall& call = script_.calls[i];
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    if (block.stage == kEveryStage) continue;
    const auto [reach, fresh_reach] = reaches.try_emplace({call.block, call.routine});
    if (fresh_reach) reach->second = reach_of(program_, call);
    for (const auto& [repeat, bytes] : reach->second) {
      const bool slot = repeat == Repeat::PerSlot;
      const bool away = repeat == Repeat::Away;
      const bool again = away ? leave.contains({call.block, call.microbatch})
                              : (slot || repeat == Repeat::StreamOut) && program_.recomputes;
      const bool rebuilt = again && side(call.routine) == StepSide::Backward;
      const int unit = away ? call.block : slot ? block.segment : block.stage;
      const auto [at, fresh] =
          known.try_emplace({unit, call.microbatch, repeat, rebuilt}, all_.size());
      if (fresh)
        all_.push_back({.repeat = repeat,
                        .unit = unit,
                        .microbatch = call.microbatch,
                        .rebuilt = rebuilt,
                        .offset = call.bases[static_cast<size_t>(repeat)],
                        .begin = i});
      KeptActivations& kept = all_[at->second];
      kept.bytes = std::max(kept.bytes, bytes);
      kept.end = i;
    }
  }
  // By sweeping over the calls: what begins is added, what ended is taken away.
  std::multiset<int64_t> ends;
  std::map<size_t, std::vector<size_t>> ending;
  int64_t sum = 0;
  for (size_t i = 0, next = 0; i < script_.calls.size(); ++i) {
    for (; next < all_.size() && all_[next].begin == i; ++next) {
      sum += all_[next].bytes;
      ends.insert(all_[next].offset + all_[next].bytes);
      ending[all_[next].end].push_back(next);
    }
    kept_.push_back(sum);
    filled_.push_back(ends.empty() ? 0 : *ends.rbegin());
    for (const size_t done : ending[i]) {
      sum -= all_[done].bytes;
      ends.erase(ends.find(all_[done].offset + all_[done].bytes));
    }
    ending.erase(i);
  }
}

size_t StepMemory::fullest_call() const {
  return static_cast<size_t>(std::ranges::max_element(filled_) - filled_.begin());
}

int64_t StepMemory::bytes_at(size_t call) const {
  return program_.persistent_bytes + program_.window_bytes + program_.scratch_bytes + filled_[call];
}

std::vector<KeptActivations> StepMemory::alive_at(size_t call) const {
  std::vector<KeptActivations> alive;
  for (const KeptActivations& kept : all_)
    if (kept.begin <= call && call <= kept.end) alive.push_back(kept);
  return alive;
}

int64_t StepMemory::scratch_at(size_t call, size_t instruction) const {
  const ScriptCall& at = script_.calls[call];
  const ProgramClass& program_class =
      program_.class_of(program_.blocks[static_cast<size_t>(at.block)]);
  const auto& routine = program_class.routine(at.routine);
  std::set<int> alive;
  for (size_t i = 0; i <= instruction && i < routine.size(); ++i) {
    for (const int buffer : writes(routine[i]))
      if (program_class.buffers[static_cast<size_t>(buffer)].lifetime == Lifetime::Scratch)
        alive.insert(buffer);
    if (i < instruction)
      for (const int buffer : routine[i].dead_after) alive.erase(buffer);
  }
  // Some are written in place and share their bytes with others.
  std::map<int64_t, int64_t> ends;  // by begin
  const auto add = [&](int64_t begin, int64_t bytes) {
    ends[begin] = std::max(ends[begin], begin + align_up(bytes));
  };
  if (instruction < routine.size() && routine[instruction].workspace_bytes > 0)
    add(routine[instruction].workspace_offset, routine[instruction].workspace_bytes);
  for (const int buffer : alive)
    add(program_.offset_of(at, buffer),
        program_class.buffers[static_cast<size_t>(buffer)].type.bytes());
  int64_t bytes = 0, covered = 0;
  for (const auto& [begin, end] : ends) {
    bytes += std::max<int64_t>(0, end - std::max(begin, covered));
    covered = std::max(covered, end);
  }
  return bytes;
}

}  // namespace tessera
