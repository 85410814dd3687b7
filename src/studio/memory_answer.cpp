// SPDX-License-Identifier: Apache-2.0
// The question `memory_at`: what lies in a rank's memory at a time of the simulated step, by kind
// and buffer, and how full it is over the whole step.
#include <algorithm>
#include <map>
#include <set>

#include "studio/asked_run.h"
#include "studio/columns.h"
#include "studio/ir_lines.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"
#include "studio/step_memory.h"

namespace tessera {
namespace {

constexpr size_t kMostBuffersShown = 400;

std::string_view kept_name(const KeptActivations& kept) {
  switch (kept.repeat) {
    case Repeat::StreamIn:
      return "stream from the stage before";
    case Repeat::StreamOut:
      return "stream to the next stage";
    case Repeat::Checkpoint:
      return "checkpoints between rebuilt blocks";
    case Repeat::Away:
      return kept.rebuilt ? "activations back from the host" : "activations that go to the host";
    default:
      return kept.rebuilt ? "rebuilt activations" : "kept activations";
  }
}

std::string_view unit_name(Repeat repeat) {
  if (repeat == Repeat::Away) return "block";
  return repeat == Repeat::PerSlot ? "segment" : "stage";
}

struct MemoryPlace {
  const SimulatedStep& step;
  const Program& program;
  const SimulatedRank& rank;
  StepMemory memory;
  size_t call = 0, instruction = 0;

  const Script& script() const { return program.script("train_step"); }
  const ScriptCall& called() const { return script().calls[call]; }
  size_t position_of(const ScriptCall* each) const {
    return static_cast<size_t>(each - script().calls.data());
  }
  double begin_of(size_t position) const { return rank.trace.routines[position].begin_seconds; }
};

// The last call that began by then, and its last kernel or transfer that did.
void move_to(MemoryPlace& place, double seconds) {
  for (const Slice& slice : place.rank.trace.routines)
    if (slice.begin_seconds <= seconds) place.call = place.position_of(slice.call);
  for (const auto* slices : {&place.rank.trace.kernels, &place.rank.trace.collectives})
    for (const Slice& slice : *slices) {
      if (slice.begin_seconds > seconds || place.position_of(slice.call) != place.call) continue;
      const ProgramBlock& block = place.program.blocks[static_cast<size_t>(slice.call->block)];
      const auto& routine = place.program.class_of(block).routine(slice.call->routine);
      place.instruction =
          std::max(place.instruction, static_cast<size_t>(slice.instruction - routine.data()));
    }
}

// States and windows count whole all the time; activations as far as the slot arena is filled.
Json bytes_by_kind(const MemoryPlace& place) {
  const Program& program = place.program;
  const int64_t empty_slots = program.slot_bytes - place.memory.filled_bytes()[place.call];
  Json json = Json::object();
  int64_t rest = program.peak_bytes();
  for (int kind = 0; kind < kNumBufferKinds; ++kind) {
    const int64_t bytes = program.bytes(static_cast<BufferKind>(kind));
    rest -= bytes;
    json[name(static_cast<BufferKind>(kind))] =
        bytes - (static_cast<BufferKind>(kind) == BufferKind::Activation ? empty_slots : 0);
  }
  json["rank_values"] = rest;
  return json;
}

Json kept_json(const MemoryPlace& place) {
  std::vector<KeptActivations> alive = place.memory.alive_at(place.call);
  std::ranges::stable_sort(alive, std::greater(), &KeptActivations::bytes);
  Json list = Json::array();
  for (size_t i = 0; i < std::min(alive.size(), kMostBuffersShown); ++i)
    list.push_back({{"what", kept_name(alive[i])},
                    {std::string(unit_name(alive[i].repeat)), alive[i].unit},
                    {"microbatch", alive[i].microbatch},
                    {"offset", alive[i].offset},
                    {"bytes", alive[i].bytes}});
  return list;
}

struct BufferSum {
  std::string type;
  int64_t count = 0, bytes = 0;
};

// Kept buffers of all microbatches alive, those of like blocks added up.
Json buffers_json(const MemoryPlace& place) {
  const Program& program = place.program;
  std::map<std::pair<std::string, std::string>, BufferSum> sums;
  std::map<int, int64_t> alive;  // microbatches by segment
  for (const KeptActivations& kept : place.memory.alive_at(place.call))
    if (kept.repeat == Repeat::PerSlot) ++alive[kept.unit];
  std::set<std::pair<int, int64_t>> seen;  // a stream is the next block's input, too
  for (const ProgramBlock& block : program.blocks) {
    const auto times = alive.find(block.segment);
    if (times == alive.end()) continue;
    const ProgramClass& program_class = program.class_of(block);
    for (size_t i = 0; i < program_class.buffers.size(); ++i) {
      const Buffer& buffer = program_class.buffers[i];
      if (block.repeats[i] != Repeat::PerSlot || buffer.lifetime != Lifetime::Slot) continue;
      if (!seen.emplace(block.segment, block.offsets[i]).second) continue;
      BufferSum& sum = sums[{program_class.name, buffer.name}];
      sum.type = to_string(buffer.type);
      sum.count += times->second;
      sum.bytes += times->second * buffer.type.bytes();
    }
  }
  std::vector<std::pair<std::pair<std::string, std::string>, BufferSum>> rows(sums.begin(),
                                                                              sums.end());
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.bytes; });
  Json list = Json::array();
  for (size_t i = 0; i < std::min(rows.size(), kMostBuffersShown); ++i)
    list.push_back({{"class", rows[i].first.first},
                    {"name", rows[i].first.second},
                    {"type", rows[i].second.type},
                    {"count", rows[i].second.count},
                    {"bytes", rows[i].second.bytes}});
  return list;
}

Json call_json(const MemoryPlace& place) {
  const ScriptCall& call = place.called();
  const ProgramBlock& block = place.program.blocks[static_cast<size_t>(call.block)];
  const ProgramClass& program_class = place.program.class_of(block);
  Json json{{"routine", name(call.routine)},
            {"block", block.name},
            {"class", program_class.name},
            {"microbatch", call.microbatch}};
  const auto& routine = program_class.routine(call.routine);
  if (place.instruction >= routine.size()) return json;
  json["index"] = place.instruction;
  json["op"] = name(routine[place.instruction]);
  json["line"] = IrLines(place.step.compiled.module)
                     .line_of(program_class, call.routine, routine[place.instruction]);
  return json;
}

// One entry where the bytes change.
void add_curve(const MemoryPlace& place, Columns& columns) {
  std::vector<float> begin, filled, kept;
  const int64_t rest = place.program.peak_bytes() - place.program.slot_bytes;
  for (const Slice& slice : place.rank.trace.routines) {
    const size_t call = place.position_of(slice.call);
    const auto bytes = static_cast<float>(rest + place.memory.filled_bytes()[call]);
    const auto alive = static_cast<float>(rest + place.memory.kept_bytes()[call]);
    if (!filled.empty() && filled.back() == bytes && kept.back() == alive) continue;
    begin.push_back(static_cast<float>(slice.begin_seconds));
    filled.push_back(bytes);
    kept.push_back(alive);
  }
  columns.add("begin", begin);
  columns.add("bytes", filled);
  columns.add("kept_bytes", kept);
}

}  // namespace

Answer answer_memory_at(const Question& question) {
  require_known_fields(question.fields, {"run", "pp", "time", "curve"});
  const AskedRun run = asked_run(question);
  const SimulatedStep step =
      simulate_step(run.config, run.cluster, spec_to_simulate(run.cluster, run.config),
                    {.check = false, .keep_slices = true});
  const std::vector<Program>& programs = step.compiled.programs;
  const auto fullest = std::ranges::max_element(programs, {}, &Program::peak_bytes);
  const auto pp = static_cast<size_t>(
      find_whole(question.fields, "pp", {0, static_cast<int64_t>(programs.size()) - 1})
          .value_or(fullest - programs.begin()));
  MemoryPlace place{step, programs[pp], step.simulation.ranks[pp], StepMemory(programs[pp])};
  const size_t peak_call = place.memory.fullest_call();
  const double peak_time = place.begin_of(peak_call);
  place.call = peak_call;
  const std::optional<double> time = find_number(question.fields, "time");
  if (time) move_to(place, *time);
  Json json{{"pp", pp},
            {"rank", place.rank.rank},
            {"alike", place.rank.alike},
            {"time", time.value_or(peak_time)},
            {"peak_time", peak_time},
            {"peak_bytes", place.memory.bytes_at(peak_call)},
            {"step_seconds", step.simulation.first_seconds},
            {"device_memory_bytes", run.cluster.device.memory_bytes.value},
            {"call", call_json(place)},
            {"bytes", bytes_by_kind(place)},
            {"all_bytes", place.memory.bytes_at(place.call)},
            {"kept_bytes", place.memory.kept_bytes()[place.call]},
            {"scratch_in_use_bytes", place.memory.scratch_at(place.call, place.instruction)},
            {"kept", kept_json(place)},
            {"buffers", buffers_json(place)}};
  Columns columns;
  if (find_flag(question.fields, "curve").value_or(false)) {
    add_curve(place, columns);
    json["columns"] = columns.list;
  }
  return {std::move(json), std::move(columns.bytes)};
}

}  // namespace tessera
