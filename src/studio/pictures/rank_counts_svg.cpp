// SPDX-License-Identifier: Apache-2.0
// Days and price (or rank hours) of a whole run against the number of ranks, one panel each.
#include "studio/pictures/rank_counts_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "studio/pictures/picture_svg.h"

namespace tessera {
namespace {

// In pixels.
constexpr double kWidth = 720, kPanel = 190, kLeft = 78, kRight = 30, kTop = 60, kGap = 62;
constexpr double kDot = 8;

struct Panel {
  std::string title;
  std::function<double(const WholeRunPlan&)> value;
  std::function<std::string(double)> words;
};

// Ranks are spread by their logarithm: they double from one to the next.
double x_of(const std::vector<RankCount>& counts, int ranks) {
  const double low = std::log2(counts.front().ranks), high = std::log2(counts.back().ranks);
  const double room = kWidth - kLeft - kRight - 40;
  return kLeft + 20 + (high > low ? room * (std::log2(ranks) - low) / (high - low) : room / 2);
}

void draw_panel(PictureSvg& svg, const std::vector<RankCount>& counts, const Panel& panel,
                double top) {
  double most = 0;
  for (const RankCount& each : counts)
    if (each.run) most = std::max(most, panel.value(*each.run));
  const double tick = tick_of(most, 5), high = std::ceil(most / tick) * tick;
  const auto y_of = [&](double value) { return top + kPanel * (1 - value / high); };
  svg.text(kLeft, top - 12, panel.title, "head");
  for (int i = 0; i * tick <= high * (1 + 1e-9); ++i) {
    svg.line(kLeft, y_of(i * tick), kWidth - kRight, y_of(i * tick));
    svg.text(kLeft - 8, y_of(i * tick) + 4, panel.words(i * tick), "soft end");
  }
  const RankCount* before = nullptr;
  for (const RankCount& each : counts) {
    const double x = x_of(counts, each.ranks);
    svg.text(x, top + kPanel + 18, fmt::format("{}", each.ranks), "soft mid");
    if (!each.run) continue;
    const double y = y_of(panel.value(*each.run));
    if (before != nullptr)
      svg.line(x_of(counts, before->ranks), y_of(panel.value(*before->run)), x, y, "node");
    before = &each;
  }
  for (const RankCount& each : counts) {
    if (!each.run) continue;
    const double value = panel.value(*each.run);
    svg.box(x_of(counts, each.ranks) - kDot / 2, y_of(value) - kDot / 2, kDot, kDot, fill::kBlue,
            fmt::format("{} ranks: {}", each.ranks, panel.words(value)));
  }
}

// 12.3M, 45k
std::string short_number(double value) {
  if (value >= 1e9) return fmt::format("{:.4g}B", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.4g}M", value / 1e6);
  return value >= 1e4 ? fmt::format("{:.4g}k", value / 1e3) : fmt::format("{:.4g}", value);
}

}  // namespace

std::string rank_counts_svg(const std::vector<RankCount>& counts, const std::string& title) {
  const bool priced = std::ranges::any_of(
      counts, [](const RankCount& each) { return each.run && each.run->price_per_rank_hour > 0; });
  const Panel days{.title = "days",
                   .value = [](const WholeRunPlan& plan) { return plan.days(); },
                   .words = [](double value) { return fmt::format("{:.4g}", value); }};
  const Panel price{
      .title = priced ? "price" : "rank hours",
      .value =
          [priced](const WholeRunPlan& plan) { return priced ? plan.price() : plan.rank_hours(); },
      .words = short_number};
  PictureSvg svg(kWidth, title);
  svg.heading(title);
  draw_panel(svg, counts, days, kTop);
  draw_panel(svg, counts, price, kTop + kPanel + kGap);
  const double bottom = kTop + 2 * kPanel + kGap;
  std::string words = "ranks";
  if (const std::optional<size_t> last = last_that_pays(counts)) {
    const double x = x_of(counts, counts[*last].ranks);
    svg.line(x, kTop, x, bottom, "limit");
    words = fmt::format("ranks; beyond {} added ones do less than half of the work that they could",
                        counts[*last].ranks);
  }
  svg.text(kWidth / 2, bottom + 40, words, "soft mid");
  return svg.finish(bottom + 54);
}

}  // namespace tessera
