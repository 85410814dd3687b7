// SPDX-License-Identifier: Apache-2.0
// Timelines as pictures: a row of kernels for each class of ranks, and below it what it moves, a
// row for each axis of the mesh.
#include <algorithm>
#include <map>

#include "core/quantities.h"
#include "mesh/axes.h"
#include "report/figure_text.h"
#include "studio/pictures/picture_svg.h"
#include "studio/pictures/pictures.h"

namespace tessera {
namespace {

// In pixels.
constexpr double kWide = 900, kEdge = 14, kNames = 136, kTopOfRows = 76, kKernelRow = 24,
                 kThinRow = 14, kTransferRow = 13, kBetweenRanks = 12, kAxisBelow = 22,
                 kLeastShown = 0.4, kLeastSeen = 0.1, kMerged = 0.8;
constexpr size_t kMostRanks = 16, kMostWithTransfers = 4;

struct TimeAxis {
  double begin = 0, end = 1, left = kNames, right = kWide - kEdge;

  double at(double seconds) const {
    const double inside = std::clamp(seconds, begin, end);
    return left + (inside - begin) / (end - begin) * (right - left);
  }
  double width(const TimelineBar& bar) const { return at(bar.end) - at(bar.begin); }
};

void draw_ticks(PictureSvg& svg, const TimeAxis& axis, double y) {
  const double tick = tick_of(axis.end - axis.begin, 8);
  svg.line(axis.left, y, axis.right, y);
  for (int i = 0; i * tick <= axis.end - axis.begin; ++i) {
    const double x = axis.at(axis.begin + i * tick);
    svg.line(x, y, x, y + 4);
    if (x + 30 < axis.right || i == 0)
      svg.text(x, y + 16, i == 0 ? "0" : seconds_text(i * tick), i == 0 ? "small" : "small mid");
  }
}

// One colour for each axis; sums over several axes have that of the last.
std::string_view axis_fill(const std::string& axes) {
  const std::string axis(user_name(std::string_view(axes).substr(axes.find_last_of('+') + 1)));
  static const std::map<std::string, std::string_view> fills{
      {"pp", fill::kGrey}, {"dp", fill::kOrange}, {"fsdp", fill::kViolet},
      {"ep", fill::kTeal}, {"cp", fill::kYellow}, {"tp", fill::kPink}};
  const auto found = fills.find(axis);
  return found == fills.end() ? fill::kGrey : found->second;
}

std::string tip_of(const TimelineBar& bar) {
  return fmt::format("{}{}{}: {} {}, microbatch {}, {}", bar.name, bar.axes.empty() ? "" : " ",
                     bar.axes, bar.routine, bar.block, bar.microbatch, seconds_text(bar.seconds()));
}

// What a bar of the whole step stands for; nothing: it is not drawn.
std::string_view routine_fill(const std::string& routine) {
  static const std::map<std::string, std::string_view> fills{
      {"forward", fill::kBlue},     {"recompute", fill::kTeal},     {"backward", fill::kGreen},
      {"input_grad", fill::kGreen}, {"weight_grad", fill::kViolet}, {"norm", fill::kOrange},
      {"update", fill::kOrange},    {"gather_wait", fill::kWait},   {"reduce_wait", fill::kWait}};
  const auto found = fills.find(routine);
  return found == fills.end() ? std::string_view() : found->second;
}

std::vector<std::pair<std::string_view, std::string>> routine_legend(const Timeline& timeline) {
  const auto has = [&](std::string_view routine, double least = 1e-3) {
    return std::ranges::any_of(timeline.ranks, [&](const TimelineRank& rank) {
      return std::ranges::any_of(rank.routines, [&](const TimelineBar& bar) {
        return bar.routine == routine && bar.seconds() > timeline.seconds * least;
      });
    });
  };
  std::vector<std::pair<std::string_view, std::string>> legend{{fill::kBlue, "forward"}};
  const bool recomputes = has("recompute", 0), by_block = timeline.microbatches() == 1;
  if (recomputes && by_block) legend.emplace_back(fill::kTeal, "recomputed");
  legend.emplace_back(fill::kGreen, has("input_grad")         ? "input gradient"
                                    : recomputes && !by_block ? "backward, with recomputation"
                                                              : "backward");
  if (has("weight_grad")) legend.emplace_back(fill::kViolet, "weight gradient");
  legend.emplace_back(fill::kOrange, "optimizer");
  if (has("gather_wait") || has("reduce_wait")) legend.emplace_back(fill::kWait, "waits for bytes");
  legend.emplace_back(fill::kEmpty, "idle");
  return legend;
}

// Routines of one kind that follow each other for one microbatch, or for one block where there is
// but one microbatch, are one bar.
std::vector<TimelineBar> joined_routines(const std::vector<TimelineBar>& routines, bool by_block,
                                         double gap) {
  std::vector<TimelineBar> bars;
  for (TimelineBar bar : routines) {
    if (!by_block && bar.routine == "recompute") bar.routine = "backward";  // they alternate
    const std::string_view kind = routine_fill(bar.routine);
    const bool plain = kind == fill::kOrange || kind == fill::kWait;
    if (kind.empty() || bar.seconds() <= (kind == fill::kWait ? gap / 2 : 0)) continue;
    TimelineBar* last = bars.empty() ? nullptr : &bars.back();
    if (last && routine_fill(last->routine) == kind && bar.begin - last->end < gap &&
        (plain || (by_block ? last->block == bar.block : last->microbatch == bar.microbatch)))
      last->end = std::max(last->end, bar.end);
    else
      bars.push_back(bar);
  }
  return bars;
}

// "12" of layer.12.
std::string short_block(const std::string& block) {
  const size_t dot = block.find_last_of('.');
  return dot == std::string::npos ? block : block.substr(dot + 1);
}

void draw_routines(PictureSvg& svg, const TimeAxis& axis, const TimelineRank& rank, bool by_block,
                   double y, double height) {
  svg.box(axis.left, y, axis.right - axis.left, height, fill::kEmpty);
  const double gap = (axis.end - axis.begin) / 400;
  for (const TimelineBar& bar : joined_routines(rank.routines, by_block, gap)) {
    const double x = axis.at(bar.begin), width = axis.width(bar);
    if (width < kLeastShown) continue;
    const std::string_view kind = routine_fill(bar.routine);
    svg.box(x, y, std::max(width - 0.6, kLeastShown), height, kind);
    if (kind != fill::kOrange && kind != fill::kWait)
      svg.label(x, y + height / 2 + 4, width,
                by_block ? short_block(bar.block) : fmt::format("{}", bar.microbatch));
  }
}

// What waits for other stages is not shown as if it moved: of those along pp, what is sent.
bool is_shown(const TimelineBar& bar) { return !bar.axes.starts_with("pp") || bar.name == "send"; }

// Those of one axis.
std::vector<const TimelineBar*> transfers_within(const TimelineRank& rank, const std::string& axes,
                                                 const TimeAxis& axis) {
  std::vector<const TimelineBar*> bars;
  for (const TimelineBar& bar : rank.transfers)
    if (bar.axes == axes && is_shown(bar) && bar.end > axis.begin && bar.begin < axis.end &&
        axis.width(bar) >= kLeastSeen)
      bars.push_back(&bar);
  return bars;
}

// All in one path, and those that lie closer than a pixel as one, so that a picture stays small.
void draw_merged(PictureSvg& svg, const TimeAxis& axis, const TimelineRank& rank,
                 const std::string& axes, double y) {
  std::string path;
  double x = 0, right = -1;
  const auto flush = [&] {
    if (right > x)
      path += fmt::format("M{:.1f} {:.1f}h{:.1f}v{}H{:.1f}z", x, y,
                          std::max(right - x, kLeastShown), kTransferRow - 3, x);
  };
  for (const TimelineBar* bar : transfers_within(rank, axes, axis)) {
    const double begin = axis.at(bar->begin), end = begin + axis.width(*bar);
    if (right < 0 || begin - right >= kMerged) {
      flush();
      x = begin;
    }
    right = std::max(right, end);
  }
  flush();
  svg.area(path, axis_fill(axes));
}

// Each with its name; those under way at once below each other. Returns where they end.
double draw_named(PictureSvg& svg, const TimeAxis& axis, const TimelineRank& rank,
                  const std::string& axes, double y) {
  std::vector<double> busy_until;  // by row
  for (const TimelineBar* bar : transfers_within(rank, axes, axis)) {
    const auto row =
        std::ranges::find_if(busy_until, [&](double until) { return until <= bar->begin; });
    const auto number = static_cast<double>(row - busy_until.begin());
    if (row == busy_until.end())
      busy_until.push_back(bar->end);
    else
      *row = bar->end;
    const double x = axis.at(bar->begin), width = axis.width(*bar);
    const double top = y + number * (kTransferRow + 2);
    svg.box(x, top, std::max(width - 0.6, kLeastShown), kTransferRow, axis_fill(axes),
            tip_of(*bar));
    svg.label(x, top + kTransferRow - 3, width, bar->name);
  }
  return y + static_cast<double>(busy_until.size()) * (kTransferRow + 2);
}

std::string step_text(const Timeline& timeline) {
  double busy = 0, waits = 0;
  for (const TimelineRank& rank : timeline.ranks) {
    for (const TimelineBar& bar : rank.kernels)
      (bar.name == "wait" ? waits : busy) += bar.seconds();
  }
  const double all = timeline.seconds * static_cast<double>(timeline.ranks.size());
  return fmt::format("{} a step; kernels {:.0f} % of it, waits {:.0f} %",
                     seconds_text(timeline.seconds), 100 * busy / all, 100 * waits / all);
}

// Those whose bars can be seen, for a thousandth of the time at least.
std::vector<std::string> axes_of(const TimelineRank& rank, const TimeAxis& axis) {
  std::map<std::string, double> seconds;
  for (const TimelineBar& bar : rank.transfers)
    if (is_shown(bar) && axis.width(bar) >= kLeastSeen)
      seconds[bar.axes] += std::min(bar.end, axis.end) - std::max(bar.begin, axis.begin);
  std::vector<std::string> axes;
  for (const auto& [name, busy] : seconds)
    if (busy > (axis.end - axis.begin) / 1000) axes.push_back(name);
  return axes;
}

}  // namespace

std::string draw_step(const Timeline& timeline, const std::string& title) {
  PictureSvg svg(kWide, "One step: " + title);
  svg.heading(title);
  svg.text(kEdge, 41, step_text(timeline));
  svg.legend(kEdge, 61, routine_legend(timeline));
  const TimeAxis axis{.begin = 0, .end = timeline.seconds};
  const bool by_block = timeline.microbatches() == 1;
  const size_t shown = std::min(timeline.ranks.size(), kMostRanks);
  const double height = shown > kMostRanks / 2 ? kThinRow : kKernelRow;
  double y = kTopOfRows;
  for (size_t i = 0; i < shown; ++i) {
    const TimelineRank& rank = timeline.ranks[i];
    const double top = y;
    svg.text(kEdge, y + height / 2 + 4, rank.name);
    if (shown <= kMostWithTransfers && rank.alike > 1)
      svg.text(kEdge, y + height + 12, fmt::format("and {} identical", rank.alike - 1), "small");
    draw_routines(svg, axis, rank, by_block, y, height);
    y += height + 3;
    if (shown <= kMostWithTransfers)
      for (const std::string& axes : axes_of(rank, axis)) {
        svg.text(kNames - 6, y + 9, axes, "small end");
        draw_merged(svg, axis, rank, axes, y);
        y += kTransferRow;
      }
    if (shown <= kMostWithTransfers) y = std::max(y + kBetweenRanks, top + height + 30);
  }
  if (shown < timeline.ranks.size()) {
    svg.text(kEdge, y + 8, fmt::format("and {} more", timeline.ranks.size() - shown), "small");
    y += 14;
  }
  draw_ticks(svg, axis, y);
  return svg.finish(y + kAxisBelow);
}

namespace {

// From the end of the work before it to its own end.
struct BlockWindow {
  double begin = 0, end = 0;
  const TimelineBar* routine = nullptr;
};

bool is_backward(const std::string& routine) {
  return routine == "backward" || routine == "input_grad";
}

BlockWindow window_of(const TimelineRank& rank, const std::string& block, bool backward) {
  BlockWindow window;
  double before = 0;
  for (const TimelineBar& bar : rank.routines) {
    const bool same = backward ? is_backward(bar.routine) : bar.routine == "forward";
    if (same && bar.block == block && (backward || !window.routine))
      window = {before, bar.end, &bar};
    if (bar.routine == "forward" || is_backward(bar.routine) || bar.routine == "weight_grad")
      before = bar.end;
  }
  return window;
}

// In the middle of those with the same name but for a number.
std::string middle_block(const TimelineRank& rank) {
  std::map<std::string, std::vector<std::string>> blocks;  // by what stands before the number
  for (const TimelineBar& bar : rank.routines) {
    if (bar.routine != "forward") continue;
    auto& list = blocks[bar.block.substr(0, bar.block.find_last_of('.'))];
    if (std::ranges::find(list, bar.block) == list.end()) list.push_back(bar.block);
  }
  const auto most =
      std::ranges::max_element(blocks, {}, [](const auto& entry) { return entry.second.size(); });
  return most == blocks.end() ? "" : most->second[most->second.size() / 2];
}

std::string_view kernel_fill(const std::string& op) {
  if (op == "wait") return fill::kWait;
  if (op.find("attention") != std::string::npos) return fill::kGreen;
  return op.find("matmul") != std::string::npos ? fill::kBlue : fill::kOrange;
}

double draw_window(PictureSvg& svg, const TimelineRank& rank, const BlockWindow& window, double y) {
  const TimeAxis axis{.begin = window.begin, .end = window.end};
  svg.text(kEdge, y + 12,
           fmt::format("{} of {}: {}", window.routine->routine, window.routine->block,
                       seconds_text(window.end - window.begin)),
           "head");
  y += 22;
  svg.text(kNames - 6, y + 16, "kernels", "small end");
  svg.box(axis.left, y, axis.right - axis.left, kKernelRow, fill::kEmpty);
  for (const TimelineBar& bar : rank.kernels) {
    const double x = axis.at(bar.begin), width = axis.width(bar);
    if (bar.end <= axis.begin || bar.begin >= axis.end || width < kLeastShown) continue;
    svg.box(x, y, std::max(width - 0.6, kLeastShown), kKernelRow, kernel_fill(bar.name),
            tip_of(bar));
    svg.label(x, y + 16, width, bar.name);
  }
  y += kKernelRow + 4;
  for (const std::string& axes : axes_of(rank, axis)) {
    svg.text(kNames - 6, y + 10, axes, "small end");
    y = draw_named(svg, axis, rank, axes, y) + 2;
  }
  draw_ticks(svg, axis, y + 2);
  return y + kAxisBelow + 14;
}

}  // namespace

std::string draw_block(const Timeline& timeline, const std::string& title) {
  PictureSvg svg(kWide, "One block: " + title);
  svg.heading(title);
  const std::vector<std::pair<std::string_view, std::string>> legend{
      {fill::kBlue, "matmul"},
      {fill::kGreen, "attention"},
      {fill::kOrange, "other kernels"},
      {fill::kWait, "waits for bytes"}};
  const TimelineRank& rank = timeline.ranks.front();
  const double x = svg.legend(kEdge, 42, legend);
  svg.text(x, 42,
           fmt::format("below them: transfers by axis; of {}{}", rank.name,
                       rank.alike > 1 ? fmt::format(" and {} identical", rank.alike - 1) : ""));
  double y = 58;
  const std::string block = middle_block(rank);
  for (const bool backward : {false, true})
    if (const BlockWindow window = window_of(rank, block, backward); window.routine)
      y = draw_window(svg, rank, window, y);
  return svg.finish(y - 6);
}

}  // namespace tessera
