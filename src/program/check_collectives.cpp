// SPDX-License-Identifier: Apache-2.0
// Plays the collectives of all ranks: a start never waits, a wait goes on when every member has
// started the same one.
#include <algorithm>
#include <map>

#include "program/check_program.h"

namespace tessera {
namespace {

// The ranks of a collective, or the two ends of a channel between stages.
struct Members {
  std::vector<int> ranks;
  std::string channel = {};
  auto operator<=>(const Members&) const = default;
};

// "0,1", "0,4 stream 0>1"
std::string to_string(const Members& members) {
  std::string text;
  for (const int rank : members.ranks) text += fmt::format("{}{}", text.empty() ? "" : ",", rank);
  return members.channel.empty() ? text : fmt::format("{} {}", text, members.channel);
}

// A collective, or one end of a message, as a member starts it.
struct Started {
  const Program* program;
  const Script* script;
  const ScriptCall* call;
  const Instruction* instruction;

  const ProgramBlock& block() const { return program->blocks[static_cast<size_t>(call->block)]; }
  const TensorType& type(int buffer) const {
    return program->class_of(block()).buffers[static_cast<size_t>(buffer)].type;
  }
};

bool agree(const Started& a, const Started& b) {
  const auto* own = a.instruction->as<CollectiveInstruction>();
  const auto* other = b.instruction->as<CollectiveInstruction>();
  if (!own || !other)
    return !own && !other && a.call->microbatch == b.call->microbatch &&
           a.type(awaited_buffer(*a.instruction)) == b.type(awaited_buffer(*b.instruction));
  return own->op == other->op && own->reduction == other->reduction && own->split == other->split &&
         own->join == other->join && own->async == other->async &&
         a.type(own->input) == b.type(other->input) && a.type(own->output) == b.type(other->output);
}

std::string where(const Started& started) {
  return fmt::format("script {}, {} of block {}, microbatch {}", started.script->name,
                     name(started.call->routine), started.block().name, started.call->microbatch);
}

// "all_reduce fp32[d=8] -> fp32[d=8] over tp, reduction=sum (script train_step, ...)"
std::string to_string(const Started& started) {
  const auto* collective = started.instruction->as<CollectiveInstruction>();
  if (!collective)
    return fmt::format("message {} of microbatch {} ({})",
                       to_string(started.type(awaited_buffer(*started.instruction))),
                       started.call->microbatch, where(started));
  const TensorType& input = started.type(collective->input);
  std::string text =
      fmt::format("{} {} -> {} over {}", name(collective->op), to_string(input),
                  to_string(started.type(collective->output)),
                  started.program->groups[static_cast<size_t>(collective->group)].name);
  const auto add_dim = [&](std::string_view what, int dim) {
    if (dim != kNone)
      text += fmt::format(", {}={}", what, input.dims[static_cast<size_t>(dim)].name);
  };
  add_dim("split", collective->split);
  add_dim("join", collective->join);
  return fmt::format("{}, reduction={}{} ({})", text, name(collective->reduction),
                     collective->async ? ", async" : "", where(started));
}

struct Event {
  bool waits;     // else it starts
  int group;      // number of its members
  size_t number;  // of the group's collectives on this rank
};

struct Rank {
  std::vector<Event> events;
  std::map<int, std::vector<Started>> started;  // by group, in order
  size_t next = 0;                              // event
  std::map<int, size_t> done;                   // starts so far, by group
};

// Gives every set of members a number.
class MemberTable {
 public:
  int number_of(const Members& members) {
    const auto [found, fresh] = numbers_.try_emplace(members, static_cast<int>(all_.size()));
    if (fresh) all_.push_back(&found->first);
    return found->second;
  }
  const Members& at(int number) const { return *all_[static_cast<size_t>(number)]; }

 private:
  std::map<Members, int> numbers_;
  std::vector<const Members*> all_;  // by number
};

class RankReader {
 public:
  RankReader(const Program& program, int rank, MemberTable& members)
      : program_(program), rank_(rank), members_(members) {
    for (const Group& group : program.groups)
      groups_.push_back(members.number_of({members_of(group, program.mesh, rank)}));
  }

  Rank read(const Script& script) {
    for (const ScriptCall& call : script.calls) {
      const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
      for (const Instruction& instruction : program_.class_of(block).routine(call.routine))
        if (instruction.as<WaitInstruction>())
          wait(call, instruction);
        else if (has_peers(instruction, program_))
          start({&program_, &script, &call, &instruction});
    }
    return std::move(result_);
  }

 private:
  void start(const Started& started) {
    const auto* collective = started.instruction->as<CollectiveInstruction>();
    if (collective) return add(started, groups_[static_cast<size_t>(collective->group)]);
    const StageChannel& channel = program_.channels[static_cast<size_t>(started.call->channel)];
    if (channel.from == channel.to) return;
    const std::vector<int> line = program_.mesh.group(rank_, {program_.pipeline_axis});
    add(started, members_.number_of({.ranks = {line[static_cast<size_t>(channel.from)],
                                               line[static_cast<size_t>(channel.to)]},
                                     .channel = channel.name}));
  }

  void add(const Started& started, int group) {
    std::vector<Started>& all = result_.started[group];
    const size_t number = all.size();
    all.push_back(started);
    result_.events.push_back({false, group, number});
    const Event wait{true, group, number};
    if (is_started(*started.instruction))
      flying_[place(*started.call, *started.instruction)] = wait;
    else
      result_.events.push_back(wait);
  }

  using Place = std::pair<Lifetime, int64_t>;
  Place place(const ScriptCall& call, const Instruction& instruction) const {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const int buffer = awaited_buffer(instruction);
    return {program_.class_of(block).buffers[static_cast<size_t>(buffer)].lifetime,
            program_.offset_of(call, buffer)};
  }

  void wait(const ScriptCall& call, const Instruction& instruction) {
    const auto found = flying_.find(place(call, instruction));
    if (found == flying_.end()) return;  // one rank: nothing was started
    result_.events.push_back(found->second);
    flying_.erase(found);
  }

  const Program& program_;
  int rank_;
  MemberTable& members_;
  std::vector<int> groups_;  // numbers of the program's groups
  Rank result_;
  std::map<Place, Event> flying_;
};

class Play {
 public:
  Play(const std::map<int, const Program*>& programs, const std::string& script) {
    for (const auto& [rank, program] : programs)
      ranks_[rank] = RankReader(*program, rank, members_).read(program->script(script));
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
  const std::vector<int>& played(int group) {
    const auto [found, fresh] = played_.try_emplace(group);
    if (fresh)
      for (const int member : members_.at(group).ranks)
        if (ranks_.contains(member)) found->second.push_back(member);
    return found->second;
  }

  bool step(Rank& rank) {
    if (rank.next == rank.events.size()) return false;
    const Event& event = rank.events[rank.next];
    if (event.waits) {
      for (const int other : played(event.group))
        if (ranks_.at(other).done[event.group] <= event.number) return false;
    } else {
      ++rank.done[event.group];
      check_agreement(rank, event);
    }
    ++rank.next;
    return true;
  }

  void check_agreement(const Rank& rank, const Event& event) {
    const Started& own = rank.started.at(event.group)[event.number];
    for (const int other : played(event.group)) {
      const auto& started = ranks_.at(other).started;
      const auto found = started.find(event.group);
      if (found == started.end() || found->second.size() <= event.number)
        throw ProgramError(
            fmt::format("rank {} never starts collective {} of the group of ranks {}: {}", other,
                        event.number, to_string(members_.at(event.group)), to_string(own)));
      const Started& theirs = found->second[event.number];
      if (!agree(own, theirs))
        throw ProgramError(fmt::format(
            "collective {} of the group of ranks {} differs: {}, but on rank {}: {}", event.number,
            to_string(members_.at(event.group)), to_string(own), other, to_string(theirs)));
    }
  }

  [[noreturn]] void refuse(int rank) const {
    const Rank& stuck = ranks_.at(rank);
    const Event& event = stuck.events[stuck.next];
    throw ProgramError(fmt::format(
        "deadlock: rank {} waits for ever for collective {} of the group of ranks {}: {}", rank,
        event.number, to_string(members_.at(event.group)),
        to_string(stuck.started.at(event.group)[event.number])));
  }

  MemberTable members_;
  std::map<int, Rank> ranks_;
  std::map<int, std::vector<int>> played_;  // by group
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
