// SPDX-License-Identifier: Apache-2.0
#include "studio/runs/measured_lanes.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "studio/columns.h"

namespace tessera {
namespace {

constexpr size_t kMostDrawnRanks = 64, kMostDrawnSlices = 2'000'000;

struct MeasuredLane {
  std::string name;
  double busy_until = 0;
  uint32_t number = 0;
};

// What the answer's columns get, by name; others get zeros.
struct AddedValues {
  std::vector<float> begin, length;
  std::map<std::string, std::vector<uint32_t>> whole;
};

class MeasuredLanes {
 public:
  MeasuredLanes(Answer& answer, const std::vector<Program>& programs,
                const InstructionNumbers& numbers)
      : json_(answer.json), programs_(programs), numbers_(numbers) {
    uint32_t blocks = 0;
    for (const Program& program : programs) {
      first_block_.push_back(blocks);
      blocks += static_cast<uint32_t>(program.blocks.size());
    }
  }

  void add_rank(int rank, std::vector<const AlignedSlice*> slices, double zero) {
    const size_t place = program_of_rank(programs_, rank);
    const size_t rank_place = json_["ranks"].items().size();
    json_["ranks"].push_back({{"rank", rank}, {"alike", 1}, {"pp", place}, {"measured", true}});
    std::vector<MeasuredLane> lanes;
    lane_of("kernels", 0, 0, rank_place, lanes);
    std::ranges::stable_sort(slices, {}, &AlignedSlice::begin_seconds);
    for (const AlignedSlice* slice : slices) {
      const uint32_t number = numbers_.at(slice->instruction);
      const Json& about = json_["instructions"].items()[number];
      const Json* level = about.find("level");
      const std::string name = !slice->transfers        ? "kernels"
                               : level && level->text() ? *level->text()
                                                        : "transfers";
      added_.begin.push_back(static_cast<float>(slice->begin_seconds - zero));
      added_.length.push_back(static_cast<float>(slice->end_seconds - slice->begin_seconds));
      added_.whole["instruction"].push_back(number);
      added_.whole["lane"].push_back(
          lane_of(name, slice->begin_seconds, slice->end_seconds, rank_place, lanes));
      added_.whole["microbatch"].push_back(static_cast<uint32_t>(slice->call->microbatch));
      added_.whole["block"].push_back(first_block_[place] +
                                      static_cast<uint32_t>(slice->call->block));
    }
  }

  const AddedValues& added() const { return added_; }

 private:
  // Kernels follow one another; of transfers, those under way at once have lanes of their own.
  uint32_t lane_of(const std::string& name, double begin, double end, size_t rank_place,
                   std::vector<MeasuredLane>& lanes) {
    int same = 0;
    for (MeasuredLane& lane : lanes) {
      if (lane.name != name) continue;
      ++same;
      if (name != "kernels" && lane.busy_until > begin) continue;
      lane.busy_until = end;
      return lane.number;
    }
    const auto number = static_cast<uint32_t>(json_["lanes"].items().size());
    json_["lanes"].push_back({{"rank", rank_place}, {"name", name}, {"number", same}});
    lanes.push_back({name, end, number});
    return number;
  }

  Json& json_;
  const std::vector<Program>& programs_;
  const InstructionNumbers& numbers_;
  std::vector<uint32_t> first_block_;
  AddedValues added_;
};

template <typename T>
void read_column(const Answer& answer, const Json& about, auto& values) {
  std::vector<T> own(static_cast<size_t>(*about.find("count")->integer()));
  std::memcpy(own.data(), answer.columns.data() + *about.find("offset")->integer(),
              own.size() * sizeof(T));
  values.assign(own.begin(), own.end());
}

void append_columns(Answer& answer, const AddedValues& added) {
  Columns columns;
  for (const Json& about : answer.json.find("columns")->items()) {
    const std::string &name = *about.find("name")->text(), &type = *about.find("type")->text();
    if (type == "f32") {
      std::vector<float> values;
      read_column<float>(answer, about, values);
      const std::vector<float>& more = name == "begin" ? added.begin : added.length;
      values.insert(values.end(), more.begin(), more.end());
      columns.add(name, values);
      continue;
    }
    std::vector<uint32_t> values;
    if (type == "u16")
      read_column<uint16_t>(answer, about, values);
    else
      read_column<uint32_t>(answer, about, values);
    const auto found = added.whole.find(name);
    if (found != added.whole.end())
      values.insert(values.end(), found->second.begin(), found->second.end());
    else
      values.resize(values.size() + added.begin.size());
    columns.add(name, values);
  }
  answer.json["columns"] = std::move(columns.list);
  answer.columns = std::move(columns.bytes);
}

}  // namespace

InstructionNumbers number_instructions(const std::vector<Program>& programs, const Json& slices) {
  std::map<std::tuple<std::string, std::string, int64_t>, uint32_t> by_name;
  uint32_t count = 0;
  for (const Json& each : slices.find("instructions")->items())
    by_name[{*each.find("class")->text(), *each.find("routine")->text(),
             *each.find("index")->integer()}] = count++;
  InstructionNumbers numbers;
  for (const Program& program : programs)
    for (const ProgramClass& program_class : program.classes)
      for (const RoutineRow& row : kRoutines) {
        const std::vector<Instruction>& routine = program_class.routine(row.routine);
        for (size_t i = 0; i < routine.size(); ++i) {
          const auto found =
              by_name.find({program_class.name, std::string(row.name), static_cast<int64_t>(i)});
          if (found != by_name.end()) numbers[&routine[i]] = found->second;
        }
      }
  return numbers;
}

int64_t add_measured_lanes(Answer& answer, const TracedStep& traced,
                           const std::vector<Program>& programs,
                           const InstructionNumbers& numbers) {
  std::map<int, std::vector<const AlignedSlice*>> of_rank;
  for (const AlignedSlice& slice : traced.slices) of_rank[slice.rank].push_back(&slice);
  MeasuredLanes lanes(answer, programs, numbers);
  int64_t drawn = 0;
  for (auto& [rank, slices] : of_rank) {
    if (static_cast<size_t>(drawn) >= kMostDrawnRanks ||
        lanes.added().begin.size() + slices.size() > kMostDrawnSlices)
      break;
    lanes.add_rank(rank, std::move(slices), traced.begin_seconds);
    ++drawn;
  }
  append_columns(answer, lanes.added());
  return drawn;
}

}  // namespace tessera
