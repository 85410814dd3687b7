// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_csv.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/error.h"
#include "files/small_file.h"
#include "schedule/check_schedule.h"

namespace tessera {
namespace {

// Larger tables are not a schedule; this also keeps stages times microbatches within memory.
constexpr int kMostStages = 1 << 16, kMostMicrobatches = 1 << 20;
constexpr int64_t kMostEntries = int64_t{1} << 22;

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '"'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<ActionKind> kind_of(char symbol) {
  for (int i = 0; i < kNumActionKinds; ++i)
    if (letter(static_cast<ActionKind>(i)) == symbol) return static_cast<ActionKind>(i);
  return std::nullopt;
}

std::optional<Action> parse_action(std::string_view cell) {
  Action action;
  const char* end = cell.data() + cell.size();
  const auto stage = std::from_chars(cell.data(), end, action.stage);
  if (stage.ec != std::errc() || stage.ptr == end) return std::nullopt;
  const std::optional<ActionKind> kind = kind_of(*stage.ptr);
  const auto microbatch = std::from_chars(stage.ptr + 1, end, action.microbatch);
  if (!kind || microbatch.ec != std::errc() || microbatch.ptr != end) return std::nullopt;
  if (action.stage < 0 || action.stage >= kMostStages || action.microbatch < 0 ||
      action.microbatch >= kMostMicrobatches)
    return std::nullopt;
  action.kind = *kind;
  return action;
}

std::vector<Action> parse_line(std::string_view line, const std::string& place) {
  std::vector<Action> actions;
  for (const std::string_view text : split(line, ',')) {
    const std::string_view cell = trimmed(text);
    if (cell.empty()) continue;
    const std::optional<Action> action = parse_action(cell);
    if (!action)
      throw user_error("{} is not an action", cell)
          .at(place)
          .help(
              "a cell is stage, letter, microbatch, as in 0F3; letters are F (forward), B (full "
              "backward), I (input gradient), W (weight gradient); sends and gathers are left out");
    actions.push_back(*action);
  }
  return actions;
}

// Fills in what the actions imply: sizes, and which rank holds which stage.
void infer_sizes(Schedule& schedule, const std::string& place) {
  int last_stage = -1, last_microbatch = -1;
  for (const std::vector<Action>& actions : schedule.actions)
    for (const Action& action : actions) {
      last_stage = std::max(last_stage, action.stage);
      last_microbatch = std::max(last_microbatch, action.microbatch);
    }
  schedule.ranks = static_cast<int>(schedule.actions.size());
  schedule.microbatches = last_microbatch + 1;
  schedule.rank_of_stage.assign(static_cast<size_t>(last_stage) + 1, -1);
  std::vector<int> stages_of(schedule.actions.size());
  for (size_t rank = 0; rank < schedule.actions.size(); ++rank)
    for (const Action& action : schedule.actions[rank])
      if (int& holder = schedule.rank_of_stage[static_cast<size_t>(action.stage)]; holder < 0) {
        holder = static_cast<int>(rank);
        ++stages_of[rank];
      }
  schedule.chunks = std::max(1, stages_of[0]);
  for (size_t stage = 0; stage < schedule.rank_of_stage.size(); ++stage)
    if (schedule.rank_of_stage[stage] < 0)
      throw user_error("no rank runs stage {}, but there is a stage {}", stage, last_stage)
          .at(place)
          .help("number stages from 0 without gaps");
  for (size_t rank = 0; rank < stages_of.size(); ++rank)
    if (stages_of[rank] != schedule.chunks)
      throw user_error("rank {} has {} stages, but rank 0 has {}", rank, stages_of[rank],
                       schedule.chunks)
          .at(place)
          .help("give each rank, one per line, the same number of stages");
  if (int64_t{schedule.num_stages()} * schedule.microbatches > kMostEntries)
    throw user_error("{} stages and {} microbatches are too many", schedule.num_stages(),
                     schedule.microbatches)
        .at(place)
        .help("number stages and microbatches from 0 without gaps");
}

}  // namespace

Schedule parse_schedule_csv(std::string_view text, const std::string& place) {
  Schedule schedule;
  schedule.kind = "custom";
  const std::vector<std::string_view> lines = split(text, '\n');
  for (size_t i = 0; i < lines.size(); ++i)
    if (!trimmed(lines[i]).empty())
      schedule.actions.push_back(parse_line(lines[i], fmt::format("{}:{}", place, i + 1)));
  size_t actions = 0;
  for (const std::vector<Action>& line : schedule.actions) actions += line.size();
  if (actions == 0)
    throw user_error("the schedule has no actions")
        .at(place)
        .help("write one line per rank: 0F0,0F1,0B0,0B1");
  infer_sizes(schedule, place);
  try {
    check_schedule(schedule);
  } catch (UserError& error) {
    throw std::move(error).at(place);
  }
  return schedule;
}

Schedule read_schedule_csv(const std::string& path) {
  const std::optional<std::string> text = find_small_file(path);
  if (!text || text->empty())
    throw user_error("cannot read the schedule {}", path)
        .help("give a CSV of actions, a line per rank; tessera schedule --csv writes one");
  return parse_schedule_csv(*text, path);
}

std::string to_csv(const Schedule& schedule) {
  std::string text;
  for (const std::vector<Action>& actions : schedule.actions) {
    for (size_t i = 0; i < actions.size(); ++i) {
      if (i > 0) text += ',';
      text += to_string(actions[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tessera
