// SPDX-License-Identifier: Apache-2.0
// A schedule as a picture: a row per rank, time to the right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "schedule/schedule_drawing.h"

namespace tessera {
namespace {

// In pixels.
constexpr double kLeft = 58, kRight = 8, kTitle = 30, kRow = 22, kRowGap = 4, kPanelGap = 14,
                 kLegend = 28, kLeastWidth = 560, kMostWidth = 1080, kLabelled = 13, kCell = 20;

struct Colour {
  int red, green, blue;
};
// F, B, I and W: a rank's first chunk, its last one. Dark text is legible on all of them.
constexpr Colour kFirst[kNumActionKinds] = {
    {158, 202, 247}, {160, 216, 166}, {250, 205, 130}, {214, 187, 240}};
constexpr Colour kLast[kNumActionKinds] = {
    {92, 153, 222}, {99, 176, 110}, {232, 160, 64}, {172, 130, 216}};
constexpr const char* kMeaning[kNumActionKinds] = {"forward", "backward", "input gradient",
                                                   "weight gradient"};

int mixed(int first, int last, double share) {
  return static_cast<int>(std::lround(first + (last - first) * share));
}

std::string fill(ActionKind kind, int chunk, int chunks) {
  const double share = chunks == 1 ? 0 : static_cast<double>(chunk) / (chunks - 1);
  const Colour &a = kFirst[static_cast<size_t>(kind)], &b = kLast[static_cast<size_t>(kind)];
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(a.red, b.red, share),
                     mixed(a.green, b.green, share), mixed(a.blue, b.blue, share));
}

// Hundredths of a pixel, without trailing zeros.
std::string px(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string rectangle(double x, double y, double width, const std::string& colour) {
  return fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" rx="2" fill="{}"/>)", px(x),
                     px(y), px(width), px(kRow), colour);
}

double height_of(const TimedSchedule& timed) {
  return kTitle + timed.schedule.ranks * (kRow + kRowGap) + kPanelGap;
}

// Pixels per unit of time: cells wide enough for a number, if the page is.
double scale_of(std::span<const TimedSchedule> schedules) {
  double shortest = 0, longest = 0;
  for (const TimedSchedule& timed : schedules) {
    longest = std::max(longest, timed.timing.makespan);
    for (const RankTiming& rank : timed.timing.ranks)
      for (const TimedAction& action : rank.actions)
        if (const double length = action.end - action.begin; length > 0)
          shortest = shortest == 0 ? length : std::min(shortest, length);
  }
  return std::clamp(longest / shortest * kCell, kLeastWidth, kMostWidth) / longest;
}

std::string title_of(const TimedSchedule& timed) {
  const Schedule& schedule = timed.schedule;
  double peak = 0;
  for (const RankTiming& rank : timed.timing.ranks) peak = std::max(peak, rank.peak_activations);
  return fmt::format(
      R"(<tspan font-weight="600">{}</tspan>  {} ranks, {}{} microbatches: bubble {:.1f} % of )"
      R"(total, {:.1f} % of ideal; peak {:.4g} activations)",
      schedule.kind, schedule.ranks,
      schedule.chunks == 1 ? "" : fmt::format("{} chunks, ", schedule.chunks),
      schedule.microbatches, 100 * timed.timing.bubble_of_total, 100 * timed.timing.bubble_of_ideal,
      peak);
}

std::string draw_panel(const TimedSchedule& timed, double top, double scale) {
  const Schedule& schedule = timed.schedule;
  const std::vector<int> chunks = chunk_of_stage(schedule);
  std::string text =
      fmt::format("<text class=\"t\" x=\"0\" y=\"{}\">{}</text>\n", px(top + 18), title_of(timed));
  for (size_t rank = 0; rank < timed.timing.ranks.size(); ++rank) {
    const double y = top + kTitle + static_cast<double>(rank) * (kRow + kRowGap);
    text += fmt::format("<text class=\"t\" x=\"0\" y=\"{}\">rank {}</text>\n", px(y + 15), rank);
    text += rectangle(kLeft, y, timed.timing.makespan * scale, "#8b949e33") + "\n";
    for (const TimedAction& timed_action : timed.timing.ranks[rank].actions) {
      const Action& action = timed_action.action;
      const double x = kLeft + timed_action.begin * scale;
      const double width = (timed_action.end - timed_action.begin) * scale;
      const int chunk = chunks[static_cast<size_t>(action.stage)];
      text += rectangle(x, y, std::max(width - 1, 0.5), fill(action.kind, chunk, schedule.chunks));
      if (width >= kLabelled)
        text += fmt::format(R"(<text class="n" x="{}" y="{}">{}</text>)", px(x + width / 2 - 0.5),
                            px(y + 15), action.microbatch);
      text += "\n";
    }
  }
  return text;
}

struct Legend {
  std::string text;
  double right;  // its end
};

Legend draw_legend(std::span<const TimedSchedule> schedules, double y) {
  std::set<ActionKind> kinds;
  int chunks = 1;
  for (const TimedSchedule& timed : schedules) {
    chunks = std::max(chunks, timed.schedule.chunks);
    for (const std::vector<Action>& actions : timed.schedule.actions)
      for (const Action& action : actions) kinds.insert(action.kind);
  }
  std::string text;
  double x = kLeft;
  constexpr double kLetter = 7, kSwatch = 20, kGap = 24;  // a letter of the widest usual font
  const auto add = [&](const std::string& colour, const std::string& meaning) {
    text += fmt::format(R"(<rect x="{}" y="{}" width="14" height="14" rx="2" fill="{}"/>)", px(x),
                        px(y), colour);
    text += fmt::format("<text class=\"t\" x=\"{}\" y=\"{}\">{}</text>\n", px(x + kSwatch),
                        px(y + 11.5), meaning);
    x += kSwatch + kLetter * static_cast<double>(meaning.size()) + kGap;
  };
  for (const ActionKind kind : kinds) add(fill(kind, 0, 1), kMeaning[static_cast<size_t>(kind)]);
  if (chunks > 1) add(fill(ActionKind::Forward, 1, 2), "darker: later chunk");
  add("#8b949e33", "idle");
  const std::string numbers = "numbers: microbatches";
  text +=
      fmt::format("<text class=\"t\" x=\"{}\" y=\"{}\">{}</text>\n", px(x), px(y + 11.5), numbers);
  return {text, x + kLetter * static_cast<double>(numbers.size())};
}

constexpr const char* kStyle =
    "<style>text{font:12px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif}"
    ".t{fill:#59636e}.n{fill:#1b232c;font-size:11px;text-anchor:middle}"
    "@media(prefers-color-scheme:dark){.t{fill:#9ba5b0}}</style>\n";

}  // namespace

std::string draw_as_svg(std::span<const TimedSchedule> schedules) {
  const double scale = scale_of(schedules);
  double longest = 0, bottom = 0;
  std::string panels;
  for (const TimedSchedule& timed : schedules) {
    panels += draw_panel(timed, bottom, scale);
    longest = std::max(longest, timed.timing.makespan);
    bottom += height_of(timed);
  }
  const Legend legend = draw_legend(schedules, bottom);
  const double width =
      std::max(kLeft + std::max(longest * scale, kLeastWidth), legend.right) + kRight;
  const double height = bottom + kLegend;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
             "height=\"{1}\">\n",
             px(width), px(height)) +
         kStyle + panels + legend.text + "</svg>\n";
}

}  // namespace tessera
