// SPDX-License-Identifier: Apache-2.0
#include "compiler/scripts.h"

#include <map>

namespace tessera {
namespace {

class ScriptWriter {
 public:
  ScriptWriter(Program& program, std::string name)
      : program_(program), script_{.name = std::move(name), .calls = {}} {}

  // Calls the routine of that block, if its class has one.
  void call(RoutineKind routine, int block, int microbatch) {
    if (program_.class_of(program_.blocks[static_cast<size_t>(block)]).routine(routine).empty())
      return;
    script_.calls.push_back({.routine = routine,
                             .block = block,
                             .microbatch = microbatch,
                             .first = microbatch == 0,
                             .last = microbatch == program_.microbatches - 1,
                             .accumulate = {}});
    decide_accumulation(script_.calls.back());
  }

  void for_blocks(RoutineKind routine, int microbatch) {
    for (int block = 0; block < num_blocks(); ++block) call(routine, block, microbatch);
  }

  void for_blocks_reversed(RoutineKind routine, int microbatch) {
    for (int block = num_blocks() - 1; block >= 0; --block) call(routine, block, microbatch);
  }

  void finish() { program_.scripts.push_back(std::move(script_)); }

 private:
  int num_blocks() const { return static_cast<int>(program_.blocks.size()); }

  // Whoever comes first in the script writes an accumulator, whatever shares it; everyone after
  // adds.
  void decide_accumulation(ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
      for (const int result : instruction.accumulators) {
        const int buffer = instruction.results[static_cast<size_t>(result)];
        bool& written = written_[block.offsets[static_cast<size_t>(buffer)]];
        call.accumulate.push_back(written);
        written = true;
      }
  }

  Program& program_;
  Script script_;
  std::map<int64_t, bool> written_;  // by offset in the window arena
};

bool has_routine(const Program& program, RoutineKind kind) {
  for (const ProgramClass& program_class : program.classes)
    if (!program_class.routine(kind).empty()) return true;
  return false;
}

void write_train_step(Program& program) {
  ScriptWriter script(program, "train_step");
  for (int microbatch = 0; microbatch < program.microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Begin, microbatch);
  for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
    script.for_blocks(RoutineKind::Forward, microbatch);
    script.for_blocks_reversed(RoutineKind::Backward, microbatch);
  }
  const int last = program.microbatches - 1;
  script.for_blocks(RoutineKind::Norm, last);
  script.for_blocks(RoutineKind::Update, last);
  script.finish();
}

void write_evaluate(Program& program) {
  ScriptWriter script(program, "evaluate");
  for (int microbatch = 0; microbatch < program.microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Begin, microbatch);
  for (int microbatch = 0; microbatch < program.microbatches; ++microbatch)
    script.for_blocks(RoutineKind::Evaluate, microbatch);
  script.finish();
}

}  // namespace

void write_scripts(Program& program) {
  if (has_routine(program, RoutineKind::Backward)) write_train_step(program);
  write_evaluate(program);
}

}  // namespace tessera
