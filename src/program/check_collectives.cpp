// SPDX-License-Identifier: Apache-2.0
// Plays the collectives of all ranks: a start never waits, a wait goes on when every member has
// started the same one.
#include <map>

#include "ir/op_def.h"
#include "program/check_program.h"

namespace tessera {
namespace {

// One collective as a member of its group sees it.
struct Started {
  std::string text;   // what all members must agree on
  std::string where;  // for messages
};

struct Event {
  bool waits;         // else it starts
  std::string group;  // the ranks, as text
  int64_t number;     // of the group's collectives on this rank
};

struct Rank {
  std::vector<Event> events;
  std::map<std::string, std::vector<Started>> started;  // by group, in order
  size_t next = 0;                                      // event
  std::map<std::string, int64_t> done;                  // starts so far, by group
};

std::string text_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += fmt::format("{}{}", text.empty() ? "" : ",", rank);
  return text;
}

class RankReader {
 public:
  RankReader(const Program& program, int rank) : program_(program), rank_(rank) {}

  Rank read(const Script& script) {
    for (const ScriptCall& call : script.calls) {
      const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
      for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
        if (instruction.op == OpKind::wait)
          wait(call, block, instruction);
        else if (op_def(instruction.op).communicates && instruction.attributes.integer("ranks") > 1)
          start(script, call, block, instruction);
    }
    return std::move(result_);
  }

 private:
  void start(const Script& script, const ScriptCall& call, const ProgramBlock& block,
             const Instruction& instruction) {
    const std::string group = text_of(
        program_.mesh.group(rank_, program_.mesh.parse_word(instruction.attributes.word("axes"))));
    const ProgramClass& program_class = program_.class_of(block);
    const auto type = [&](int buffer) -> const TensorType& {
      return program_class.buffers[static_cast<size_t>(buffer)].type;
    };
    std::string text =
        fmt::format("{} {} -> {}", name(instruction.op), to_string(type(instruction.operands[0])),
                    to_string(type(instruction.results[0])));
    for (const auto& [key, value] : instruction.attributes.entries())
      text += fmt::format(" {}={}", key, to_string(value));
    std::vector<Started>& all = result_.started[group];
    const auto number = static_cast<int64_t>(all.size());
    all.push_back({text, fmt::format("script {}, {} of block {}, microbatch {}", script.name,
                                     name(call.routine), block.name, call.microbatch)});
    result_.events.push_back({false, group, number});
    const int64_t place = block.offsets[static_cast<size_t>(instruction.results[0])];
    if (instruction.attributes.integer("async") == 0)
      result_.events.push_back({true, group, number});
    else
      flying_[{block.name, place}] = {true, group, number};
  }

  void wait(const ScriptCall&, const ProgramBlock& block, const Instruction& instruction) {
    const int64_t place = block.offsets[static_cast<size_t>(instruction.operands[0])];
    const auto found = flying_.find({block.name, place});
    if (found == flying_.end()) return;  // one rank: nothing was started
    result_.events.push_back(found->second);
    flying_.erase(found);
  }

  const Program& program_;
  int rank_;
  Rank result_;
  std::map<std::pair<std::string, int64_t>, Event> flying_;
};

std::vector<int> members_of(const std::string& group) {
  std::vector<int> members;
  for (size_t at = 0; at < group.size();) {
    const size_t end = std::min(group.find(',', at), group.size());
    members.push_back(std::stoi(group.substr(at, end - at)));
    at = end + 1;
  }
  return members;
}

class Play {
 public:
  Play(std::span<const Program* const> programs, const std::string& script) {
    for (size_t rank = 0; rank < programs.size(); ++rank)
      ranks_.push_back(
          RankReader(*programs[rank], static_cast<int>(rank)).read(programs[rank]->script(script)));
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < ranks_.size(); ++rank)
        while (step(ranks_[rank])) moved = true;
    }
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].next < ranks_[rank].events.size()) refuse(static_cast<int>(rank));
  }

 private:
  bool step(Rank& rank) {
    if (rank.next == rank.events.size()) return false;
    const Event& event = rank.events[rank.next];
    if (event.waits) {
      for (const int other : members_of(event.group))
        if (ranks_[static_cast<size_t>(other)].done[event.group] <= event.number) return false;
    } else {
      ++rank.done[event.group];
      check_agreement(rank, event);
    }
    ++rank.next;
    return true;
  }

  void check_agreement(const Rank& rank, const Event& event) const {
    const Started& own = rank.started.at(event.group)[static_cast<size_t>(event.number)];
    for (const int other : members_of(event.group)) {
      const auto& started = ranks_[static_cast<size_t>(other)].started;
      const auto found = started.find(event.group);
      if (found == started.end() || found->second.size() <= static_cast<size_t>(event.number))
        throw ProgramError(
            fmt::format("rank {} never starts collective {} of the group of ranks {}: {} ({})",
                        other, event.number, event.group, own.text, own.where));
      const Started& theirs = found->second[static_cast<size_t>(event.number)];
      if (theirs.text != own.text)
        throw ProgramError(fmt::format(
            "collective {} of the group of ranks {} differs: {} ({}), but on rank {}: {} ({})",
            event.number, event.group, own.text, own.where, other, theirs.text, theirs.where));
    }
  }

  [[noreturn]] void refuse(int rank) const {
    const Rank& stuck = ranks_[static_cast<size_t>(rank)];
    const Event& event = stuck.events[stuck.next];
    const Started& own = stuck.started.at(event.group)[static_cast<size_t>(event.number)];
    throw ProgramError(fmt::format(
        "deadlock: rank {} waits for ever for collective {} of the group of ranks {}: {} ({})",
        rank, event.number, event.group, own.text, own.where));
  }

  std::vector<Rank> ranks_;
};

}  // namespace

void check_collectives(std::span<const Program* const> programs) {
  TESSERA_CHECK(!programs.empty());
  for (const Script& script : programs.front()->scripts) Play(programs, script.name).run();
}

}  // namespace tessera
