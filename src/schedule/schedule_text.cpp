// SPDX-License-Identifier: Apache-2.0
// A schedule as text: a line per rank, time to the right.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "schedule/schedule_drawing.h"

namespace tessera {
namespace {

// 256-colour backgrounds of F, B, I and W: of even chunks, of odd ones.
constexpr int kBackground[kNumActionKinds][2] = {{117, 75}, {150, 107}, {222, 179}, {183, 140}};

// Columns per unit of time: enough for every label, if the line is long enough.
double scale_of(const TimedSchedule& timed, size_t label, size_t columns) {
  double shortest = timed.timing.makespan;
  for (const RankTiming& rank : timed.timing.ranks)
    for (const TimedAction& action : rank.actions)
      if (action.end > action.begin) shortest = std::min(shortest, action.end - action.begin);
  const double fits = static_cast<double>(columns) / timed.timing.makespan * shortest;
  // Whole columns for the shortest action, so that equal actions look the same.
  return std::min(static_cast<double>(label), fits < 1 ? fits : std::floor(fits)) / shortest;
}

std::string label_of(const Action& action, int chunk) {
  const char symbol = letter(action.kind);
  return fmt::format("{}{}", chunk % 2 == 0 ? symbol : static_cast<char>(std::tolower(symbol)),
                     action.microbatch);
}

// Without colours a blank ends the cell and dashes fill it.
std::string cell_text(const std::string& label, size_t width, bool colour) {
  if (width < label.size()) return label.substr(0, 1) + std::string(width - 1, colour ? ' ' : '-');
  std::string text = label + std::string(width - label.size(), colour ? ' ' : '-');
  if (!colour && width > label.size()) text.back() = ' ';
  return text;
}

std::string draw_rank(const TimedSchedule& timed, size_t rank, double scale, bool colour) {
  const std::vector<int> chunks = chunk_of_stage(timed.schedule);
  std::string line;
  size_t drawn = 0;  // columns so far
  for (const TimedAction& timed_action : timed.timing.ranks[rank].actions) {
    const auto begin = static_cast<size_t>(std::lround(timed_action.begin * scale));
    const auto end = static_cast<size_t>(std::lround(timed_action.end * scale));
    if (end <= std::max(begin, drawn)) continue;  // shorter than a column
    if (begin > drawn) line += std::string(begin - drawn, colour ? ' ' : '.');
    const Action& action = timed_action.action;
    const int chunk = chunks[static_cast<size_t>(action.stage)];
    const std::string text =
        cell_text(label_of(action, chunk), end - std::max(begin, drawn), colour);
    const int background = kBackground[static_cast<size_t>(action.kind)][chunk % 2];
    line += colour ? fmt::format("\x1b[48;5;{};30m{}\x1b[0m", background, text) : text;
    drawn = end;
  }
  const auto end = static_cast<size_t>(std::lround(timed.timing.makespan * scale));
  if (!colour && end > drawn) line += std::string(end - drawn, '.');
  return line;
}

}  // namespace

std::string draw_as_text(const TimedSchedule& timed, const TextDrawing& drawing) {
  const size_t digits = std::to_string(timed.schedule.ranks - 1).size();
  const size_t prefix = 7 + digits;  // "rank 12  "
  const size_t columns = static_cast<size_t>(std::max(drawing.columns, 20)) - prefix;
  // A letter, the microbatch and a blank.
  const size_t label = 2 + std::to_string(timed.schedule.microbatches - 1).size();
  const double scale = scale_of(timed, label, columns);
  std::string text;
  for (size_t rank = 0; rank < timed.timing.ranks.size(); ++rank)
    text += fmt::format("rank {:<{}}  {}\n", rank, digits,
                        draw_rank(timed, rank, scale, drawing.colour));
  return text;
}

}  // namespace tessera
