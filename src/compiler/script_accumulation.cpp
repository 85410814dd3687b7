// SPDX-License-Identifier: Apache-2.0
#include "compiler/script_accumulation.h"

#include <map>

#include "compiler/flat_uses.h"

namespace tessera {
namespace {

class Accumulation {
 public:
  Accumulation(const Module& module, const Program& program) : module_(module), program_(program) {}

  void decide(ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const BlockClass& block_class =
        module_.class_of(module_.blocks[static_cast<size_t>(call.block)]);
    for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
      for (const int result : instruction.accumulators) {
        bool& written = written_[accumulator_name(
            block_class, call.block, writes(instruction)[static_cast<size_t>(result)])];
        call.accumulate.push_back(written);
        written = true;
      }
    if (call.routine != RoutineKind::Reduce) return;
    for (const Bundle& bundle : block_class.bundles)
      for (const std::string& parameter : bundle.parameters)
        if (reduces_every_microbatch(block_class, bundle))
          written_.erase(
              "gradient " +
              module_.state_name(module_.blocks[static_cast<size_t>(call.block)], parameter));
  }

 private:
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
  const Program& program_;
  std::map<std::string, bool> written_;
};

}  // namespace

void decide_accumulation(const Module& module, const Program& program, Script& script) {
  Accumulation accumulation(module, program);
  for (ScriptCall& call : script.calls) accumulation.decide(call);
}

}  // namespace tessera
