// SPDX-License-Identifier: Apache-2.0
#include "studio/pictures/timeline.h"

#include <algorithm>
#include <map>

namespace tessera {
namespace {

constexpr std::string_view kBetweenStages = "pp";

std::string rank_text(int rank, const Program& program) {
  if (program.pipeline_axis < 0 || program.mesh.size(program.pipeline_axis) == 1)
    return fmt::format("rank {}", rank);
  return fmt::format("pp={}: rank {}", program.mesh.coordinate(rank, program.pipeline_axis), rank);
}

TimelineBar bar_of(const Slice& slice, const Program& program) {
  TimelineBar bar{.begin = slice.begin_seconds,
                  .end = slice.end_seconds,
                  .name = {},
                  .axes = {},
                  .routine = std::string(name(slice.call->routine)),
                  .block = program.blocks[static_cast<size_t>(slice.call->block)].name,
                  .microbatch = slice.call->microbatch};
  if (!slice.instruction) return bar;
  bar.name = name(*slice.instruction);
  if (const auto* collective = slice.instruction->as<CollectiveInstruction>())
    bar.axes = program.group_of(*collective).name;
  else if (communicates(*slice.instruction))
    bar.axes = kBetweenStages;
  return bar;
}

std::vector<TimelineBar> bars_of(const std::vector<Slice>& slices, const Program& program) {
  std::vector<TimelineBar> bars;
  bars.reserve(slices.size());
  for (const Slice& slice : slices) bars.push_back(bar_of(slice, program));
  return bars;
}

// Of an event's member; empty and 0 where it is not as we write it.
std::string word_of(const Json& event, std::string_view member) {
  const Json* found = event.find(member);
  return found && found->text() ? *found->text() : "";
}

double number_of(const Json& event, std::string_view member) {
  const Json* found = event.find(member);
  return found ? found->number().value_or(0) : 0;
}

void add_event(const Json& event, std::map<int, TimelineRank>& ranks) {
  constexpr double kMicroseconds = 1e6;
  const std::string category = word_of(event, "cat");
  const Json* about = event.find("args");
  if (word_of(event, "ph") != "X" || !about) return;
  TimelineRank& rank = ranks[static_cast<int>(number_of(event, "pid"))];
  const double begin = number_of(event, "ts") / kMicroseconds;
  TimelineBar bar{.begin = begin,
                  .end = begin + std::max(0.0, number_of(event, "dur")) / kMicroseconds,
                  .name = word_of(event, "name"),
                  .axes = {},
                  .routine = word_of(*about, "routine"),
                  .block = word_of(*about, "block"),
                  .microbatch = static_cast<int>(number_of(*about, "microbatch"))};
  if (category == "routine" || category == "kernel") {
    (category == "kernel" ? rank.kernels : rank.routines).push_back(std::move(bar));
    return;
  }
  if (category != "collective") return;
  const size_t space = bar.name.find(' ');
  bar.axes = space == std::string::npos ? "" : bar.name.substr(space + 1);
  if (bar.axes.find('>') != std::string::npos) bar.axes = kBetweenStages;
  bar.name.resize(std::min(space, bar.name.size()));
  rank.transfers.push_back(std::move(bar));
}

// A step opens with the first forward after an update.
double begin_of_last_step(const std::vector<TimelineBar>& routines) {
  double begin = routines.front().begin;
  bool updated = false;
  for (const TimelineBar& bar : routines) {
    if (bar.routine == "update") updated = true;
    if (bar.routine == "forward" && updated) {
      begin = bar.begin;
      updated = false;
    }
  }
  return begin;
}

void cut_before(std::vector<TimelineBar>& bars, double begin) {
  std::erase_if(bars, [&](const TimelineBar& bar) { return bar.end <= begin; });
  for (TimelineBar& bar : bars) {
    bar.begin = std::max(0.0, bar.begin - begin);
    bar.end -= begin;
  }
}

}  // namespace

int Timeline::microbatches() const {
  int most = 0;
  for (const TimelineRank& rank : ranks)
    for (const TimelineBar& bar : rank.routines) most = std::max(most, bar.microbatch + 1);
  return most;
}

std::vector<std::string> Timeline::axes() const {
  std::vector<std::string> axes;
  for (const TimelineRank& rank : ranks)
    for (const TimelineBar& bar : rank.transfers)
      if (std::ranges::find(axes, bar.axes) == axes.end()) axes.push_back(bar.axes);
  return axes;
}

Timeline timeline_of(const SimulatedStep& step) {
  Timeline timeline{.ranks = {}, .seconds = step.simulation.first_seconds};
  for (size_t i = 0; i < step.compiled.programs.size(); ++i) {
    const Program& program = step.compiled.programs[i];
    const SimulatedRank& rank = step.simulation.ranks[i];
    timeline.ranks.push_back({.name = rank_text(rank.rank, program),
                              .alike = rank.alike,
                              .routines = bars_of(rank.trace.routines, program),
                              .kernels = bars_of(rank.trace.kernels, program),
                              .transfers = bars_of(rank.trace.collectives, program)});
  }
  return timeline;
}

std::optional<Timeline> timeline_of_trace(const Json& trace) {
  const Json* events = trace.find("traceEvents");
  if (!events || !events->is_array()) return {};
  std::map<int, TimelineRank> ranks;
  for (const Json& event : events->items()) add_event(event, ranks);
  std::erase_if(ranks, [](const auto& rank) { return rank.second.routines.empty(); });
  if (ranks.empty()) return {};
  const double begin = begin_of_last_step(ranks.begin()->second.routines);
  Timeline timeline;
  for (auto& [number, rank] : ranks) {
    rank.name = fmt::format("rank {}", number);
    for (auto* bars : {&rank.routines, &rank.kernels, &rank.transfers}) {
      cut_before(*bars, begin);
      for (const TimelineBar& bar : *bars) timeline.seconds = std::max(timeline.seconds, bar.end);
    }
    timeline.ranks.push_back(std::move(rank));
  }
  return timeline;
}

}  // namespace tessera
