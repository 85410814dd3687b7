// SPDX-License-Identifier: Apache-2.0
// The question `slices`: every kernel and transfer of a simulated step, for one rank of each class,
// as columns. Each slice names an instruction, and each instruction its line of the IR.
#include <map>

#include "program/program_work.h"
#include "sim/instruction_times.h"
#include "studio/asked_run.h"
#include "studio/awaited.h"
#include "studio/columns.h"
#include "studio/ir_lines.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"
#include "studio/step_slices.h"

namespace tessera {
namespace {

constexpr int64_t kMostSlices = 4'000'000;

// Copies from and to the host have links of their own, after all levels.
std::string link_name(const Cluster& cluster, size_t level) {
  if (level < cluster.levels.size()) return cluster.levels[level].name;
  return level == cluster.levels.size() ? "from host" : "to host";
}

// Transfers of one rank over the links of one level; those under way at once have lanes of their
// own.
struct Lane {
  size_t rank;
  std::string name;  // "kernels", or the level
  int number = 0;    // among those of the same name
  double busy_until = 0;
};

class SliceColumns {
 public:
  explicit SliceColumns(const SimulatedStep& step) : step_(step), lines_(step.compiled.module) {}

  Answer write(bool with_blocks) {
    for (size_t i = 0; i < step_.compiled.programs.size(); ++i) add_rank(i);
    Columns columns;
    columns.add("begin", begin_);
    columns.add("length", length_);
    columns.add("instruction", instruction_);
    columns.add("lane", lane_);
    columns.add("microbatch", microbatch_);
    if (with_blocks) columns.add("block", block_);
    Json lanes = Json::array();
    for (const Lane& lane : lanes_)
      lanes.push_back({{"rank", lane.rank}, {"name", lane.name}, {"number", lane.number}});
    Json chain = Json::array();  // blocks in the order of the stream
    for (const Block& block : step_.compiled.module.blocks) chain.push_back(block.name);
    return {{{"ranks", ranks_},
             {"lanes", lanes},
             {"instructions", instructions_},
             {"blocks", blocks_},
             {"chain", chain},
             {"mesh", to_string(step_.compiled.programs.front().mesh)},
             {"lines", lines_.lines().size()},
             {"step_seconds", step_.simulation.first_seconds},
             {"columns", columns.list}},
            std::move(columns.bytes)};
  }

 private:
  struct Known {
    uint32_t number;
    std::string level;  // of a transfer
  };

  void add_rank(size_t place) {
    const Program& program = step_.compiled.programs[place];
    const SimulatedRank& rank = step_.simulation.ranks[place];
    ranks_.push_back({{"rank", rank.rank}, {"alike", rank.alike}, {"pp", place}});
    const auto first_block = static_cast<uint32_t>(blocks_.items().size());
    for (const ProgramBlock& block : program.blocks) blocks_.push_back(block.name);
    const std::map<const Instruction*, Known> known = list_instructions(program);
    const size_t kernels = lanes_.size();
    lanes_.push_back({.rank = place, .name = "kernels"});
    const auto add = [&](const Slice& slice, const Known& instruction, size_t lane) {
      begin_.push_back(static_cast<float>(slice.begin_seconds));
      length_.push_back(static_cast<float>(slice.end_seconds - slice.begin_seconds));
      instruction_.push_back(instruction.number);
      lane_.push_back(static_cast<uint32_t>(lane));
      microbatch_.push_back(static_cast<uint32_t>(slice.call->microbatch));
      block_.push_back(first_block + static_cast<uint32_t>(slice.call->block));
    };
    for (const Slice& slice : rank.trace.kernels) add(slice, known.at(slice.instruction), kernels);
    for (const Slice& slice : rank.trace.collectives) {
      const Known& instruction = known.at(slice.instruction);
      add(slice, instruction, free_lane(kernels + 1, place, instruction.level, slice));
    }
  }

  // Links of a level move one thing after the other, so few lanes are enough.
  size_t free_lane(size_t first, size_t place, const std::string& level, const Slice& slice) {
    int number = 0;
    for (size_t i = first; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      if (lane.name != level) continue;
      ++number;
      if (lane.busy_until > slice.begin_seconds) continue;
      lane.busy_until = slice.end_seconds;
      return i;
    }
    lanes_.push_back({place, level, number, slice.end_seconds});
    return lanes_.size() - 1;
  }

  // Classes that several stages share have one entry for each instruction.
  std::map<const Instruction*, Known> list_instructions(const Program& program) {
    std::map<const Instruction*, Known> known;
    InstructionTimes times(program, step_.cluster, step_.options);
    for (size_t c = 0; c < program.classes.size(); ++c) {
      const uint32_t first_fresh = number_instructions(program.classes[c]);
      for (const RoutineRow& row : kRoutines) {
        const ProgramClass& program_class = program.classes[c];
        const auto& routine = program_class.routine(row.routine);
        if (routine.empty() || row.routine == RoutineKind::Evaluate) continue;
        const auto& timed = times.of(static_cast<int>(c), row.routine);
        for (size_t i = 0; i < routine.size(); ++i) {
          const uint32_t number = numbers_.at({program_class.name, row.routine, i});
          known[&routine[i]] = {number, link_name(step_.cluster, timed[i].level)};
          if (number >= first_fresh)
            describe(program, static_cast<int>(c), row.routine, i, timed[i]);
        }
      }
    }
    return known;
  }

  // In the order in which they are described. Returns the first number that is new.
  uint32_t number_instructions(const ProgramClass& program_class) {
    const auto first_fresh = static_cast<uint32_t>(numbers_.size());
    for (const RoutineRow& row : kRoutines)
      for (size_t i = 0; i < program_class.routine(row.routine).size(); ++i)
        if (row.routine != RoutineKind::Evaluate)
          numbers_.try_emplace({program_class.name, row.routine, i},
                               static_cast<uint32_t>(numbers_.size()));
    return first_fresh;
  }

  void describe(const Program& program, int class_index, RoutineKind routine, size_t index,
                const TimedInstruction& timed) {
    const ProgramClass& program_class = program.classes[static_cast<size_t>(class_index)];
    constexpr std::array<std::string_view, 3> kTimedKinds{"kernel", "transfer", "wait"};
    const Instruction& instruction = program_class.routine(routine)[index];
    const std::span<const int> written = writes(instruction);
    const int buffer = written.empty() ? reads(instruction).front() : written.front();
    const Cost cost = cost_of(program, program_class, instruction);
    Json json{{"op", name(instruction)},
              {"name", program_class.buffers[static_cast<size_t>(buffer)].name},
              {"class", program_class.name},
              {"routine", name(routine)},
              {"index", index},
              {"line", lines_.line_of(program_class, routine, instruction)},
              {"kind", kTimedKinds[static_cast<size_t>(timed.kind)]},
              {"seconds", timed.seconds},
              {"flops", cost.flops},
              {"bytes", timed.bytes}};
    if (const auto* collective = instruction.as<CollectiveInstruction>()) {
      json["axes"] = program.group_of(*collective).name;
      json["members"] = program.group_of(*collective).size;
    }
    if (timed.crosses) json["crosses"] = true;  // members run different programs
    if (const auto started = find_awaited(program, class_index, routine, index))
      json["awaits"] = numbers_.at({program_class.name, started->routine, started->index});
    if (communicates(instruction)) json["level"] = step_.cluster.levels[timed.level].name;
    instructions_.push_back(std::move(json));
  }

  const SimulatedStep& step_;
  const IrLines lines_;
  std::map<std::tuple<std::string, RoutineKind, size_t>, uint32_t> numbers_;
  std::vector<Lane> lanes_;
  std::vector<float> begin_, length_;
  std::vector<uint32_t> instruction_, lane_, microbatch_, block_;
  Json ranks_ = Json::array(), instructions_ = Json::array(), blocks_ = Json::array();
};

// Before anything is kept: a step has as many slices as its calls have instructions.
void check_slices(const std::vector<Program>& programs) {
  int64_t slices = 0;
  for (const Program& program : programs)
    for (const ScriptCall& call : program.script("train_step").calls)
      slices +=
          static_cast<int64_t>(program.class_of(program.blocks[static_cast<size_t>(call.block)])
                                   .routine(call.routine)
                                   .size());
  if (slices > kMostSlices)
    throw user_error("the step has {} slices, more than {} at once", slices, kMostSlices)
        .at("train.microbatches")
        .help("use fewer microbatches or layers");
}

}  // namespace

SimulatedStep simulate_slices(const Config& config, const Cluster& cluster, const RunSpec& spec) {
  SimulatedStep step =
      compile_to_simulate(config, cluster, spec, {.check = false, .keep_slices = true});
  check_slices(step.compiled.programs);
  simulate_compiled(step);
  return step;
}

Answer slices_of(const SimulatedStep& step, bool with_blocks) {
  return SliceColumns(step).write(with_blocks);
}

Answer answer_slices(const Question& question) {
  require_known_fields(question.fields, {"run", "blocks"});
  const AskedRun run = asked_run(question);
  const RunSpec spec = spec_to_simulate(run.cluster, run.config);
  const SimulatedStep step = simulate_slices(run.config, run.cluster, spec);
  return slices_of(step, find_flag(question.fields, "blocks").value_or(false));
}

}  // namespace tessera
