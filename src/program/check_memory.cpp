// SPDX-License-Identifier: Apache-2.0
// Follows which bytes of each arena hold something. Persistent memory does before the first step;
// batch inputs, step values and rank values are the host's.
#include <algorithm>
#include <array>
#include <map>

#include "ir/op_def.h"
#include "ir/op_list.h"
#include "program/check_program.h"

namespace tessera {
namespace {

// Disjoint stretches of bytes, [begin, end).
class Stretches {
 public:
  void add(int64_t begin, int64_t end) {
    auto next = stretches_.upper_bound(begin);
    if (next != stretches_.begin()) {
      const auto before = std::prev(next);
      if (before->second >= begin) {
        begin = before->first;
        end = std::max(end, before->second);
        next = stretches_.erase(before);
      }
    }
    while (next != stretches_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = stretches_.erase(next);
    }
    stretches_[begin] = end;
  }

  void remove(int64_t begin, int64_t end) {
    auto at = stretches_.upper_bound(begin);
    if (at != stretches_.begin()) --at;
    while (at != stretches_.end() && at->first < end) {
      const auto [first, last] = *at;
      if (last <= begin) {
        ++at;
        continue;
      }
      at = stretches_.erase(at);
      if (first < begin) stretches_[first] = begin;
      if (last > end) at = stretches_.emplace(end, last).first;
    }
  }

  bool covers(int64_t begin, int64_t end) const {
    auto at = stretches_.upper_bound(begin);
    if (at == stretches_.begin()) return begin >= end;
    --at;
    return at->second >= end;
  }

 private:
  std::map<int64_t, int64_t> stretches_;
};

struct Range {
  Lifetime lifetime;
  int64_t begin, end;

  bool meets(const Range& other) const {
    return lifetime == other.lifetime && begin < other.end && other.begin < end;
  }
};

class MemoryWalk {
 public:
  MemoryWalk(const Program& program, const Script& script) : program_(program), script_(script) {
    written(Lifetime::Persistent).add(0, program.persistent_bytes);
    for (const RankValue& value : program.rank_values)
      written(Lifetime::Window).add(value.offset, value.offset + size_bytes(DType::Int32));
    for (const HostBuffer& value : program.step_values)
      if (is_given(value.name))
        written(Lifetime::Window).add(value.offset, value.offset + value.type.bytes());
    for (const HostBuffer& input : program.batch_inputs)
      for (int microbatch = 0; microbatch < program.microbatches; ++microbatch) {
        const int64_t begin = input.offset + microbatch * program.batch_input_stride;
        written(Lifetime::Window).add(begin, begin + input.type.bytes());
      }
  }

  void run() {
    for (const ScriptCall& call : script_.calls) run(call);
    if (!flying_.empty())
      throw ProgramError(fmt::format("script {}: {} is started and never waited for", script_.name,
                                     flying_.front().what));
  }

 private:
  struct Flying {
    std::string what;
    Range source, filled;
    bool fills = true;  // a send fills nothing here, a recv reads nothing
    bool reads = true;
  };

  Stretches& written(Lifetime lifetime) { return written_[static_cast<size_t>(lifetime)]; }

  // Step values that no instruction of the script writes come from the host.
  bool is_given(const std::string& step) const {
    for (const ScriptCall& call : script_.calls) {
      const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
      const ProgramClass& program_class = program_.class_of(block);
      for (const Instruction& instruction : program_class.routine(call.routine))
        for (const int result : instruction.results)
          if (range(call, result).lifetime == Lifetime::Window &&
              range(call, result).begin == program_.find_step_value(step)->offset)
            return false;
    }
    return true;
  }

  Range range(const ScriptCall& call, int buffer) const {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const Buffer& declared = program_.class_of(block).buffers[static_cast<size_t>(buffer)];
    const int64_t begin = program_.offset_of(call, buffer);
    if (begin == kNone)
      throw ProgramError(fmt::format("script {}: {} of block {} has no place", script_.name,
                                     declared.name, block.name));
    return {declared.lifetime, begin, begin + declared.type.bytes()};
  }

  std::string where(const ScriptCall& call, const Instruction& instruction) const {
    return fmt::format("script {}, {} of block {}, microbatch {}: {}", script_.name,
                       name(call.routine), program_.blocks[static_cast<size_t>(call.block)].name,
                       call.microbatch, name(instruction.op));
  }

  const std::string& buffer_name(const ScriptCall& call, int buffer) const {
    return program_.class_of(program_.blocks[static_cast<size_t>(call.block)])
        .buffers[static_cast<size_t>(buffer)]
        .name;
  }

  void require_quiet(const ScriptCall& call, const Instruction& instruction, int buffer,
                     bool writes) {
    const Range touched = range(call, buffer);
    for (const Flying& flying : flying_)
      if ((flying.fills && touched.meets(flying.filled)) ||
          (writes && flying.reads && touched.meets(flying.source)))
        throw ProgramError(fmt::format("{} touches {} while {} is in flight",
                                       where(call, instruction), buffer_name(call, buffer),
                                       flying.what));
  }

  void wait(const ScriptCall& call, const Instruction& instruction) {
    const Range filled = range(call, instruction.operands[0]);
    const auto found = std::find_if(flying_.begin(), flying_.end(), [&](const Flying& flying) {
      const Range& awaited = flying.fills ? flying.filled : flying.source;
      return awaited.meets(filled) && awaited.begin == filled.begin;
    });
    if (found == flying_.end())
      throw ProgramError(where(call, instruction) + " waits for what nobody has started");
    if (found->fills) written(filled.lifetime).add(filled.begin, filled.end);
    flying_.erase(found);
  }

  void transfer(const ScriptCall& call, const Instruction& instruction) {
    const int buffer = instruction.operands[0];
    const bool sends = instruction.op == OpKind::send;
    require_quiet(call, instruction, buffer, !sends);
    if (sends) require_written(call, instruction, buffer);
    flying_.push_back({.what = where(call, instruction),
                       .source = range(call, buffer),
                       .filled = range(call, buffer),
                       .fills = !sends,
                       .reads = sends});
  }

  void run(const ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    size_t accumulator = 0;
    for (const Instruction& instruction : program_.class_of(block).routine(call.routine)) {
      if (instruction.op == OpKind::wait) {
        wait(call, instruction);
        forget(call, instruction);
        continue;
      }
      if (instruction.op == OpKind::send || instruction.op == OpKind::recv) {
        transfer(call, instruction);
        continue;
      }
      for (const int operand : instruction.operands) {
        require_quiet(call, instruction, operand, false);
        // Padding, which this op clears, was never written.
        if (instruction.op != OpKind::clear_gaps) require_written(call, instruction, operand);
      }
      for (size_t i = 0; i < instruction.results.size(); ++i) {
        const int result = instruction.results[i];
        require_quiet(call, instruction, result, true);
        const bool adds =
            std::find(instruction.accumulators.begin(), instruction.accumulators.end(),
                      static_cast<int>(i)) != instruction.accumulators.end() &&
            call.accumulate.at(accumulator++);
        if (adds) require_written(call, instruction, result);
        const Range to = range(call, result);
        written(to.lifetime).add(to.begin, to.end);
      }
      if (op_def(instruction.op).communicates && instruction.attributes.integer("async") != 0)
        flying_.push_back({where(call, instruction), range(call, instruction.operands[0]),
                           range(call, instruction.results[0])});
      forget(call, instruction);
    }
  }

  void require_written(const ScriptCall& call, const Instruction& instruction, int buffer) {
    const Range from = range(call, buffer);
    if (!written(from.lifetime).covers(from.begin, from.end))
      throw ProgramError(fmt::format("{} reads {} before it is written", where(call, instruction),
                                     buffer_name(call, buffer)));
  }

  void forget(const ScriptCall& call, const Instruction& instruction) {
    for (const int buffer : instruction.dead_after) {
      const Range dead = range(call, buffer);
      written(dead.lifetime).remove(dead.begin, dead.end);
    }
  }

  const Program& program_;
  const Script& script_;
  std::array<Stretches, 5> written_;  // by lifetime
  std::vector<Flying> flying_;
};

}  // namespace

void check_memory(const Program& program) {
  for (const Script& script : program.scripts) MemoryWalk(program, script).run();
}

}  // namespace tessera
