// SPDX-License-Identifier: Apache-2.0
#include "compiler/script_gradients.h"

#include <algorithm>
#include <set>

#include "compiler/scripts.h"

namespace tessera {
namespace {

using Blocks = std::set<int>;

bool sums_gradients(RoutineKind routine) {
  return routine == RoutineKind::Reduce || routine == RoutineKind::ReduceWait;
}

// What a call does with gradients where the device works on them, and where they rest.
class GradientTouches {
 public:
  GradientTouches(const Module& module, const Program& program, FlatUses& uses)
      : module_(module), program_(program), uses_(uses) {}

  Blocks touched(const ScriptCall& call) {
    Blocks blocks;
    for (const int block : uses_.gradients_written(call))
      if (adds_up(block, FlatRole::Gradient)) blocks.insert(block);
    if (rests(call.block) && reaches_own(call)) blocks.insert(call.block);
    return blocks;
  }

  bool reads_at_rest(const ScriptCall& call) {
    return rests(call.block) && call.routine == RoutineKind::Update &&
           reaches(call, {FlatRole::GradientAtRest});
  }

  // Whether each call of its kind must have come once before all of the block's gradients are
  // written.
  bool completes(const ScriptCall& call, int block) const {
    return side(call.routine) == StepSide::Backward ||
           (sums_gradients(call.routine) && adds_up(block, FlatRole::GradientShard));
  }

 private:
  const BlockClass& class_of(int block) const {
    return module_.class_of(module_.blocks[static_cast<size_t>(block)]);
  }

  bool rests(int block) const { return has_routine(program_, RoutineKind::GradientsIn, block); }

  // Whether the gradient of one of its bundles adds up in a buffer of that role.
  bool adds_up(int block, FlatRole role) const {
    if (!rests(block)) return false;
    const BlockClass& own = class_of(block);
    return std::ranges::any_of(own.bundles, [&](const Bundle& bundle) {
      return find_flat(own, bundle.name, FlatRole::Gradient) != nullptr &&
             reduces_every_microbatch(own, bundle) == (role == FlatRole::GradientShard);
    });
  }

  bool reaches_own(const ScriptCall& call) {
    if (side(call.routine) != StepSide::Neither) return false;
    std::vector<FlatRole> roles{FlatRole::GradientShard, FlatRole::Reduced};
    if (adds_up(call.block, FlatRole::Gradient)) roles.push_back(FlatRole::Gradient);
    return reaches(call, roles);
  }

  // Whether an instruction of the call reads or writes a flat buffer of one of these roles.
  bool reaches(const ScriptCall& call, const std::vector<FlatRole>& roles) const {
    const Graph& graph = class_of(call.block).graph;
    const auto has_role = [&](const GraphInput* input) {
      return input && input->flat && std::ranges::count(roles, input->flat->role) > 0;
    };
    const auto is_one = [&](int buffer) {
      return has_role(graph.input_of(buffer)) ||
             std::ranges::any_of(graph.outputs(), [&](const GraphOutput& output) {
               return output.kind == OutputKind::Flat && output.value == buffer &&
                      has_role(graph.find_input(InputKind::Flat, output.target));
             });
    };
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    return std::ranges::any_of(program_.class_of(block).routine(call.routine),
                               [&](const Instruction& instruction) {
                                 return std::ranges::any_of(reads(instruction), is_one) ||
                                        std::ranges::any_of(writes(instruction), is_one);
                               });
  }

  const Module& module_;
  const Program& program_;
  FlatUses& uses_;
};

class GradientCopies {
 public:
  GradientCopies(Script& script, const Module& module, const Program& program, FlatUses& uses)
      : script_(script), program_(program), touches_(module, program, uses) {
    for (const ScriptCall& call : script.calls) {
      touched_.push_back(touches_.touched(call));
      for (const int block : touched_.back())
        if (touches_.completes(call, block)) to_come_[block].insert(kind_of(call));
    }
  }

  void run() {
    for (size_t i = 0; i < touched_.size(); ++i) {
      const ScriptCall& call = script_.calls[i];
      at_ = call.microbatch;
      if (touches_.reads_at_rest(call)) put_to_rest(call.block);
      if (touched_[i].empty()) {
        calls_.push_back(call);
        continue;
      }
      const Blocks next = next_touched(i);
      for (const int block : touched_[i]) start_to_bring(block);
      for (const int block : next) start_to_bring(block);
      for (const int block : touched_[i]) take(block);
      calls_.push_back(call);
      for (const int block : Blocks(leaving_)) let_leave(block);
      note(call, touched_[i]);
      for (const int block : Blocks(here_))
        if (!next.contains(block) && may_leave(block)) send_away(block);
    }
    for (const int block : Blocks(here_)) put_to_rest(block);
    for (const int block : Blocks(leaving_)) let_leave(block);
    script_.calls = std::move(calls_);
  }

 private:
  using Kind = std::pair<int, RoutineKind>;
  static Kind kind_of(const ScriptCall& call) { return {call.block, call.routine}; }

  Blocks next_touched(size_t i) const {
    do ++i;
    while (i < touched_.size() && touched_[i].empty());
    return i < touched_.size() ? touched_[i] : Blocks{};
  }

  void call(RoutineKind routine, int block) {
    calls_.push_back(make_call(program_, routine, block, at_));
  }

  void start_to_bring(int block) {
    if (!at_rest_.contains(block)) return;
    let_leave(block);
    call(RoutineKind::GradientsIn, block);
    at_rest_.erase(block);
    coming_.insert(block);
  }

  // Before its first call of the step there is nothing to bring.
  void take(int block) {
    if (coming_.erase(block) > 0) call(RoutineKind::GradientsInDone, block);
    here_.insert(block);
  }

  void note(const ScriptCall& call, const Blocks& blocks) {
    const bool writes = call.routine != RoutineKind::Norm && call.routine != RoutineKind::Update;
    for (const int block : blocks) {
      if (writes) changed_.insert(block);
      to_come_[block].erase(kind_of(call));
      if (call.block != block) continue;
      if (call.routine == RoutineKind::Reduce &&
          has_routine(program_, RoutineKind::ReduceWait, block))
        summed_.insert(block);
      if (call.routine == RoutineKind::ReduceWait) summed_.erase(block);
    }
  }

  bool may_leave(int block) const { return !summed_.contains(block) && to_come_.at(block).empty(); }

  void send_away(int block) {
    here_.erase(block);
    at_rest_.insert(block);
    if (changed_.erase(block) == 0) return;
    call(RoutineKind::GradientsOut, block);
    leaving_.insert(block);
  }

  void let_leave(int block) {
    if (leaving_.erase(block) > 0) call(RoutineKind::GradientsOutDone, block);
  }

  void put_to_rest(int block) {
    if (here_.contains(block)) send_away(block);
    let_leave(block);
  }

  Script& script_;
  const Program& program_;
  GradientTouches touches_;
  std::vector<Blocks> touched_;            // by call
  std::map<int, std::set<Kind>> to_come_;  // by block: what has not yet written its part
  std::vector<ScriptCall> calls_;
  int at_ = 0;                                // the microbatch
  Blocks here_, coming_, leaving_, at_rest_;  // where gradients are; what leaves is at rest, too
  Blocks changed_, summed_;                   // of these: not yet at rest; in a sum that travels
};

}  // namespace

void add_gradient_copies(Script& script, const Module& module, const Program& program,
                         FlatUses& uses) {
  for (int block = 0; block < static_cast<int>(program.blocks.size()); ++block)
    if (has_routine(program, RoutineKind::GradientsIn, block))
      return GradientCopies(script, module, program, uses).run();
}

}  // namespace tessera
