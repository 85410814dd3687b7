// SPDX-License-Identifier: Apache-2.0
// Weights that rest in shards start to be gathered one call ahead of their use and are dropped
// behind it; those that the next call needs too stay, so the last block's survive from forward to
// backward.
#include "compiler/scripts.h"

#include <algorithm>
#include <map>
#include <set>

namespace tessera {

bool reduces_every_microbatch(const BlockClass& block_class) {
  return std::any_of(block_class.graph.outputs().begin(), block_class.graph.outputs().end(),
                     [](const GraphOutput& output) {
                       return output.kind == OutputKind::Flat && output.accumulates;
                     });
}

std::vector<int> weights_read(const Module& module, const Program& program,
                              const ScriptCall& call) {
  std::set<int> owners;
  const Block& block = module.blocks[static_cast<size_t>(call.block)];
  const Graph& graph = module.class_of(block).graph;
  for (const Instruction& instruction :
       program.classes[static_cast<size_t>(block.class_index)].routine(call.routine))
    for (const int operand : instruction.operands) {
      const GraphInput* input = graph.input_of(operand);
      if (!input || input->kind != InputKind::State) continue;
      const Owner owner = owner_of(module, call.block, graph.value(operand).name);
      if (find_bundle(module.class_of(module.blocks[static_cast<size_t>(owner.block)]),
                      owner.parameter))
        owners.insert(owner.block);
    }
  return {owners.begin(), owners.end()};
}

std::vector<int> gradients_written(const Module& module, const ScriptCall& call) {
  std::set<int> owners;
  if (call.routine != RoutineKind::Backward) return {};
  const Graph& graph = module.class_of(module.blocks[static_cast<size_t>(call.block)]).graph;
  for (const GraphOutput& output : graph.outputs())
    if (output.kind == OutputKind::Gradient)
      owners.insert(owner_of(module, call.block, output.target).block);
  return {owners.begin(), owners.end()};
}

namespace {

class ScriptWriter {
 public:
  ScriptWriter(const Module& module, Program& program, std::string name)
      : module_(module), program_(program), script_{.name = std::move(name), .calls = {}} {}

  bool has(RoutineKind routine, int block) const {
    return !program_.class_of(program_.blocks[static_cast<size_t>(block)]).routine(routine).empty();
  }

  // Calls the routine of that block, if its class has one.
  void call(RoutineKind routine, int block, int microbatch) {
    if (!has(routine, block)) return;
    script_.calls.push_back({.routine = routine,
                             .block = block,
                             .microbatch = microbatch,
                             .first = microbatch == 0,
                             .last = microbatch == last_microbatch(),
                             .accumulate = {}});
  }

  void for_blocks(RoutineKind routine, int microbatch) {
    for (int block = 0; block < num_blocks(); ++block) call(routine, block, microbatch);
  }

  // Sums of a block's gradients travel while the block before it computes.
  void backward(int microbatch) {
    int travelling = kNone;
    for (int block = num_blocks() - 1; block >= 0; --block) {
      call(RoutineKind::Backward, block, microbatch);
      const BlockClass& block_class = module_.class_of(module_.blocks[static_cast<size_t>(block)]);
      const bool due = microbatch == last_microbatch() || reduces_every_microbatch(block_class);
      if (!due || !has(RoutineKind::Reduce, block)) continue;
      if (travelling != kNone) call(RoutineKind::Settle, travelling, microbatch);
      call(RoutineKind::Reduce, block, microbatch);
      travelling = block;
    }
    if (travelling != kNone) call(RoutineKind::Settle, travelling, microbatch);
  }

  void finish() {
    add_gathers();
    for (ScriptCall& call : script_.calls) decide_accumulation(call);
    program_.scripts.push_back(std::move(script_));
  }

  int last_microbatch() const { return program_.microbatches - 1; }

 private:
  int num_blocks() const { return static_cast<int>(program_.blocks.size()); }

  void add_gathers() {
    std::vector<std::set<int>> needs;
    bool any = false;
    for (const ScriptCall& call : script_.calls) {
      std::set<int> blocks;
      for (const int block : weights_read(module_, program_, call))
        if (has(RoutineKind::Gather, block)) blocks.insert(block);
      any = any || !blocks.empty();
      needs.push_back(std::move(blocks));
    }
    if (!any) return;
    const auto next_need = [&](size_t i) {
      while (i < needs.size() && needs[i].empty()) ++i;
      return i < needs.size() ? needs[i] : std::set<int>{};
    };
    std::set<int> held, there;
    std::vector<ScriptCall> calls = std::move(script_.calls);
    script_.calls.clear();
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!needs[i].empty()) {
        const std::set<int> next = next_need(i + 1);
        for (const std::set<int>* wanted : {std::as_const(needs).data() + i, &next})
          for (const int block : *wanted)
            if (held.insert(block).second) call(RoutineKind::Gather, block, calls[i].microbatch);
        for (const int block : needs[i])
          if (there.insert(block).second) call(RoutineKind::Await, block, calls[i].microbatch);
        std::erase_if(there, [&](int block) { return !next.contains(block); });
        std::erase_if(held, [&](int block) { return !next.contains(block); });
      }
      script_.calls.push_back(std::move(calls[i]));
    }
  }

  // Whoever comes first in the script writes an accumulator, whatever shares it; everyone after
  // adds. Gradients that are reduced for each microbatch begin anew behind the reduction.
  void decide_accumulation(ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const BlockClass& block_class =
        module_.class_of(module_.blocks[static_cast<size_t>(call.block)]);
    for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
      for (const int result : instruction.accumulators) {
        bool& written = written_[accumulator_name(
            block_class, call.block, instruction.results[static_cast<size_t>(result)])];
        call.accumulate.push_back(written);
        written = true;
      }
    if (call.routine == RoutineKind::Reduce && reduces_every_microbatch(block_class))
      for (const Bundle& bundle : block_class.bundles)
        for (const std::string& parameter : bundle.parameters)
          written_.erase(fmt::format("gradient {}.{}", block.name, parameter));
  }

  std::string accumulator_name(const BlockClass& block_class, int block, ValueId value) const {
    const Block& here = module_.blocks[static_cast<size_t>(block)];
    for (const GraphOutput& output : block_class.graph.outputs()) {
      if (output.value != value || !output.accumulates) continue;
      if (output.kind == OutputKind::Step) return "step " + output.target;
      if (output.kind == OutputKind::Flat)
        return fmt::format("flat {}.{}", here.name, output.target);
      return "gradient " + module_.state_name(here, output.target);
    }
    check_failed("accumulator", __FILE__, __LINE__, block_class.graph.value(value).name);
  }

  const Module& module_;
  Program& program_;
  Script script_;
  std::map<std::string, bool> written_;
};

bool has_routine(const Program& program, RoutineKind kind) {
  for (const ProgramClass& program_class : program.classes)
    if (!program_class.routine(kind).empty()) return true;
  return false;
}

void write_begin(ScriptWriter& script, int microbatches) {
  for (int microbatch = 0; microbatch < microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Begin, microbatch);
  script.for_blocks(RoutineKind::Count, microbatches - 1);
}

void write_train_step(const Module& module, Program& program) {
  ScriptWriter script(module, program, "train_step");
  write_begin(script, program.microbatches);
  for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
    script.for_blocks(RoutineKind::Forward, microbatch);
    script.backward(microbatch);
  }
  const int last = script.last_microbatch();
  for (const RoutineKind routine :
       {RoutineKind::Report, RoutineKind::Norm, RoutineKind::Total, RoutineKind::Update})
    script.for_blocks(routine, last);
  script.finish();
}

void write_evaluate(const Module& module, Program& program) {
  ScriptWriter script(module, program, "evaluate");
  write_begin(script, program.microbatches);
  for (int microbatch = 0; microbatch < program.microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Evaluate, microbatch);
  script.for_blocks(RoutineKind::Report, script.last_microbatch());
  script.finish();
}

}  // namespace

void write_scripts(const Module& module, Program& program) {
  if (has_routine(program, RoutineKind::Backward)) write_train_step(module, program);
  write_evaluate(module, program);
}

}  // namespace tessera
