// SPDX-License-Identifier: Apache-2.0
// Plays the collectives of all ranks: a start never waits, a wait goes on when every member has
// started the same one.
#include <algorithm>
#include <charconv>
#include <map>

#include "ir/op_def.h"
#include "ir/op_list.h"
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
          wait(call, instruction);
        else if (call.channel != kNone)
          start_transfer(script, call, block, instruction);
        else if (op_def(instruction.op).communicates && instruction.attributes.integer("ranks") > 1)
          start(script, call, block, instruction);
    }
    return std::move(result_);
  }

 private:
  void start(const Script& script, const ScriptCall& call, const ProgramBlock& block,
             const Instruction& instruction) {
    const std::string& word = instruction.attributes.word("axes");
    std::string& group = groups_[word];
    if (group.empty()) group = text_of(program_.mesh.group(rank_, word));
    const ProgramClass& program_class = program_.class_of(block);
    const auto type = [&](int buffer) -> const TensorType& {
      return program_class.buffers[static_cast<size_t>(buffer)].type;
    };
    std::string text =
        fmt::format("{} {} -> {}", name(instruction.op), to_string(type(instruction.operands[0])),
                    to_string(type(instruction.results[0])));
    for (const auto& [key, value] : instruction.attributes.entries())
      text += fmt::format(" {}={}", key, to_string(value));
    add(script, call, block, group, std::move(text), instruction);
  }

  // One end of a message between two stages: both ends are one collective of the pair.
  void start_transfer(const Script& script, const ScriptCall& call, const ProgramBlock& block,
                      const Instruction& instruction) {
    const StageChannel& channel = program_.channels[static_cast<size_t>(call.channel)];
    if (channel.from == channel.to) return;
    const std::vector<int> line = program_.mesh.group(rank_, {program_.pipeline_axis});
    const std::string group = fmt::format("{},{} {}", line[static_cast<size_t>(channel.from)],
                                          line[static_cast<size_t>(channel.to)], channel.name);
    const TensorType& type =
        program_.class_of(block).buffers[static_cast<size_t>(instruction.operands[0])].type;
    add(script, call, block, group,
        fmt::format("message {} of microbatch {}", to_string(type), call.microbatch), instruction);
  }

  void add(const Script& script, const ScriptCall& call, const ProgramBlock& block,
           const std::string& group, std::string text, const Instruction& instruction) {
    std::vector<Started>& all = result_.started[group];
    const auto number = static_cast<int64_t>(all.size());
    all.push_back(
        {std::move(text), fmt::format("script {}, {} of block {}, microbatch {}", script.name,
                                      name(call.routine), block.name, call.microbatch)});
    result_.events.push_back({false, group, number});
    if (instruction.attributes.integer("async") == 0)
      result_.events.push_back({true, group, number});
    else
      flying_[place(call, instruction.results[0])] = {true, group, number};
  }

  using Place = std::pair<Lifetime, int64_t>;
  Place place(const ScriptCall& call, int buffer) const {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    return {program_.class_of(block).buffers[static_cast<size_t>(buffer)].lifetime,
            program_.offset_of(call, buffer)};
  }

  void wait(const ScriptCall& call, const Instruction& instruction) {
    const auto found = flying_.find(place(call, instruction.operands[0]));
    if (found == flying_.end()) return;  // one rank: nothing was started
    result_.events.push_back(found->second);
    flying_.erase(found);
  }

  const Program& program_;
  int rank_;
  Rank result_;
  std::map<std::string, std::string> groups_;  // as text, by axes: thousands of ranks are long
  std::map<Place, Event> flying_;
};

class Play {
 public:
  Play(const std::map<int, const Program*>& programs, const std::string& script) {
    for (const auto& [rank, program] : programs)
      ranks_[rank] = RankReader(*program, rank).read(program->script(script));
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& [number, rank] : ranks_)
        while (step(rank)) moved = true;
    }
    for (const auto& [number, rank] : ranks_)
      if (rank.next < rank.events.size()) refuse(number);
  }

 private:
  // Those of a group that are played: the others do as one of them does.
  const std::vector<int>& members_of(const std::string& group) {
    const auto [found, fresh] = members_.try_emplace(group);
    const char *at = group.data(), *end = at + std::min(group.find(' '), group.size());
    while (fresh && at < end) {
      int member = 0;
      at = std::from_chars(at, end, member).ptr + 1;  // behind the comma
      if (ranks_.contains(member)) found->second.push_back(member);
    }
    return found->second;
  }

  bool step(Rank& rank) {
    if (rank.next == rank.events.size()) return false;
    const Event& event = rank.events[rank.next];
    if (event.waits) {
      for (const int other : members_of(event.group))
        if (ranks_.at(other).done[event.group] <= event.number) return false;
    } else {
      ++rank.done[event.group];
      check_agreement(rank, event);
    }
    ++rank.next;
    return true;
  }

  void check_agreement(const Rank& rank, const Event& event) {
    const Started& own = rank.started.at(event.group)[static_cast<size_t>(event.number)];
    for (const int other : members_of(event.group)) {
      const auto& started = ranks_.at(other).started;
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
    const Rank& stuck = ranks_.at(rank);
    const Event& event = stuck.events[stuck.next];
    const Started& own = stuck.started.at(event.group)[static_cast<size_t>(event.number)];
    throw ProgramError(fmt::format(
        "deadlock: rank {} waits for ever for collective {} of the group of ranks {}: {} ({})",
        rank, event.number, event.group, own.text, own.where));
  }

  std::map<int, Rank> ranks_;
  std::map<std::string, std::vector<int>> members_;  // by group
};

}  // namespace

void check_collectives(std::span<const Program* const> programs) {
  TESSERA_CHECK(!programs.empty());
  std::map<int, const Program*> by_rank;
  for (size_t rank = 0; rank < programs.size(); ++rank)
    by_rank[static_cast<int>(rank)] = programs[rank];
  for (const Script& script : programs.front()->scripts) Play(by_rank, script.name).run();
}

void check_pipeline(std::span<const Program> programs) {
  const Program& first = programs.front();
  const std::vector<int> line = first.mesh.group(0, {first.pipeline_axis});
  std::map<int, const Program*> by_rank;
  for (size_t place = 0; place < programs.size(); ++place) by_rank[line[place]] = &programs[place];
  for (const Script& script : first.scripts) Play(by_rank, script.name).run();
}

}  // namespace tessera
