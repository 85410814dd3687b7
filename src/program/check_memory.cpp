// SPDX-License-Identifier: Apache-2.0
// Follows which bytes of each arena hold something. Persistent memory does before the first step;
// batch inputs, step values and rank values are the host's.
#include <algorithm>
#include <array>
#include <map>
#include <optional>

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

// Bytes of one arena.
struct ByteRange {
  MemorySpace space;
  Lifetime lifetime;
  int64_t begin, end;

  bool meets(const ByteRange& other) const {
    return space == other.space && lifetime == other.lifetime && begin < other.end &&
           other.begin < end;
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
    for (const ProgramBlock& block : program.blocks) add_host_states(block);
  }

  void run() {
    for (const ScriptCall& call : script_.calls) run(call);
    if (!flying_.empty())
      throw ProgramError(fmt::format("script {}: {} is started and never waited for", script_.name,
                                     flying_.front().what));
  }

 private:
  // An instruction in one call of its routine.
  struct Place {
    const ScriptCall& call;
    const ProgramClass& program_class;
    const Instruction& instruction;

    const Buffer& buffer(int number) const {
      return program_class.buffers[static_cast<size_t>(number)];
    }
  };
  // Started, and not yet waited for.
  struct Flying {
    std::string what;
    std::optional<ByteRange> reads, fills;

    const ByteRange& awaited() const { return fills ? *fills : *reads; }
  };

  Stretches& written(Lifetime lifetime) { return written_[static_cast<size_t>(lifetime)]; }
  Stretches& written(const ByteRange& range) {
    return range.space == MemorySpace::Host ? host_[static_cast<size_t>(range.lifetime)]
                                            : written(range.lifetime);
  }

  // What rests on the host is there before the first step.
  void add_host_states(const ProgramBlock& block) {
    const std::vector<Buffer>& buffers = program_.class_of(block).buffers;
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].space == MemorySpace::Host && buffers[i].lifetime == Lifetime::Persistent &&
          block.offsets[i] != kNone)
        host_[static_cast<size_t>(Lifetime::Persistent)].add(
            block.offsets[i], block.offsets[i] + buffers[i].type.bytes());
  }

  // Step values that no instruction of the script writes come from the host.
  bool is_given(const std::string& step) const {
    const int64_t offset = program_.find_step_value(step)->offset;
    for (const ScriptCall& call : script_.calls) {
      const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
      const ProgramClass& program_class = program_.class_of(block);
      for (const Instruction& instruction : program_class.routine(call.routine))
        for (const int result : writes(instruction)) {
          const ByteRange to = range({call, program_class, instruction}, result);
          if (to.space == MemorySpace::Device && to.lifetime == Lifetime::Window &&
              to.begin == offset)
            return false;
        }
    }
    return true;
  }

  ByteRange range(const Place& place, int buffer) const {
    const Buffer& declared = place.buffer(buffer);
    const int64_t begin = program_.offset_of(place.call, buffer);
    if (begin == kNone)
      throw ProgramError(fmt::format("script {}: {} of block {} has no place", script_.name,
                                     declared.name,
                                     program_.blocks[static_cast<size_t>(place.call.block)].name));
    return {declared.space, declared.lifetime, begin, begin + declared.type.bytes()};
  }

  std::string where(const Place& place) const {
    return fmt::format("script {}, {} of block {}, microbatch {}: {}", script_.name,
                       name(place.call.routine),
                       program_.blocks[static_cast<size_t>(place.call.block)].name,
                       place.call.microbatch, name(place.instruction));
  }

  void require_quiet(const Place& place, int buffer, bool writing) {
    const ByteRange touched = range(place, buffer);
    for (const Flying& flying : flying_)
      if ((flying.fills && touched.meets(*flying.fills)) ||
          (writing && flying.reads && touched.meets(*flying.reads)))
        throw ProgramError(fmt::format("{} touches {} while {} is in flight", where(place),
                                       place.buffer(buffer).name, flying.what));
  }

  void require_written(const Place& place, int buffer) {
    const ByteRange from = range(place, buffer);
    if (!written(from).covers(from.begin, from.end))
      throw ProgramError(
          fmt::format("{} reads {} before it is written", where(place), place.buffer(buffer).name));
  }

  // A kernel works in one memory; copies, and waits for them, go between both, and both ends hold
  // the same bytes.
  void require_spaces(const Place& place) {
    if (place.instruction.as<WaitInstruction>()) return;
    if (const auto* copy = place.instruction.as<CopyInstruction>()) {
      const Buffer &from = place.buffer(copy->input), &to = place.buffer(copy->output);
      if (from.type.bytes() != to.type.bytes())
        throw ProgramError(fmt::format("{}: {} is {}, but {} is {}", where(place), from.name,
                                       to_string(from.type), to.name, to_string(to.type)));
      return;
    }
    const MemorySpace space = space_of(place.instruction, place.program_class);
    for (const std::span<const int> buffers : {reads(place.instruction), writes(place.instruction)})
      for (const int buffer : buffers)
        if (place.buffer(buffer).space != space)
          throw ProgramError(fmt::format("{} works on the {}, but {} is on the {}", where(place),
                                         name(space), place.buffer(buffer).name,
                                         name(place.buffer(buffer).space)));
  }

  void wait(const Place& place) {
    const ByteRange awaited = range(place, awaited_buffer(place.instruction));
    const auto found = std::find_if(flying_.begin(), flying_.end(), [&](const Flying& flying) {
      return flying.awaited().meets(awaited) && flying.awaited().begin == awaited.begin;
    });
    if (found == flying_.end())
      throw ProgramError(where(place) + " waits for what nobody has started");
    if (found->fills) written(awaited).add(awaited.begin, awaited.end);
    flying_.erase(found);
  }

  void run(const ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const ProgramClass& program_class = program_.class_of(block);
    size_t accumulator = 0;
    for (const Instruction& instruction : program_class.routine(call.routine)) {
      const Place place{call, program_class, instruction};
      require_spaces(place);
      if (instruction.as<WaitInstruction>())
        wait(place);
      else
        work(place, accumulator);
      forget(place);
    }
  }

  void work(const Place& place, size_t& accumulator) {
    const Instruction& instruction = place.instruction;
    for (const int buffer : reads(instruction)) {
      require_quiet(place, buffer, false);
      // Padding, which a clear fills, was never written.
      if (!instruction.as<ClearInstruction>()) require_written(place, buffer);
    }
    const std::span<const int> results = writes(instruction);
    for (size_t i = 0; i < results.size(); ++i) {
      require_quiet(place, results[i], true);
      const bool adds = std::ranges::find(instruction.accumulators, static_cast<int>(i)) !=
                            instruction.accumulators.end() &&
                        place.call.accumulate.at(accumulator++);
      if (adds) require_written(place, results[i]);
      // What is received is there when it was waited for.
      if (instruction.as<ReceiveInstruction>()) continue;
      const ByteRange to = range(place, results[i]);
      written(to).add(to.begin, to.end);
    }
    if (is_started(instruction)) start(place);
  }

  void start(const Place& place) {
    const auto only = [&](std::span<const int> buffers) -> std::optional<ByteRange> {
      if (buffers.empty()) return std::nullopt;
      return range(place, buffers.front());
    };
    flying_.push_back({.what = where(place),
                       .reads = only(reads(place.instruction)),
                       .fills = only(writes(place.instruction))});
  }

  void forget(const Place& place) {
    for (const int buffer : place.instruction.dead_after) {
      const ByteRange dead = range(place, buffer);
      written(dead).remove(dead.begin, dead.end);
    }
  }

  const Program& program_;
  const Script& script_;
  std::array<Stretches, 5> written_, host_;  // of the device and of the host, by lifetime
  std::vector<Flying> flying_;
};

}  // namespace

void check_memory(const Program& program) {
  for (const Script& script : program.scripts) MemoryWalk(program, script).run();
}

}  // namespace tessera
