// SPDX-License-Identifier: Apache-2.0
#include "studio/pictures/cluster_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/quantities.h"
#include "studio/cluster_json.h"
#include "studio/pictures/picture_svg.h"

namespace tessera {
namespace {

// In pixels.
constexpr double kWidth = 720, kRow = 132, kTop = 64, kText = 14, kDrawing = 400, kUnit = 20;
constexpr int kMostDrawn = 8;  // units along a line; more are said in words

void draw_unit(PictureSvg& svg, double x, double y) {
  svg.box(x - kUnit / 2, y - kUnit / 2, kUnit, kUnit, fill::kBlue);
}

void draw_switch(PictureSvg& svg, int units, double top) {
  const int drawn = std::min(units, kMostDrawn);
  const double y = top + 70, bus = top + 28;
  const auto x_of = [](int i) { return kDrawing + 20 + i * 36.0; };
  svg.line(x_of(0), bus, x_of(drawn - 1), bus, "node");
  for (int i = 0; i < drawn; ++i) {
    svg.line(x_of(i), bus, x_of(i), y, "node");
    draw_unit(svg, x_of(i), y);
  }
  if (units > drawn) svg.text(x_of(drawn - 1) + 18, y + 4, "...", "soft");
}

void draw_connected(PictureSvg& svg, int units, double top) {
  const int drawn = std::min(units, kMostDrawn);
  const double x = kDrawing + 146, y = top + 54, radius = 42;
  const auto angle = [&](int i) { return 2 * std::numbers::pi * i / drawn; };
  for (int i = 0; i < drawn; ++i)
    for (int j = i + 1; j < drawn; ++j)
      svg.line(x + radius * std::sin(angle(i)), y - radius * std::cos(angle(i)),
               x + radius * std::sin(angle(j)), y - radius * std::cos(angle(j)), "node");
  for (int i = 0; i < drawn; ++i)
    draw_unit(svg, x + radius * std::sin(angle(i)), y - radius * std::cos(angle(i)));
}

// The last two dimensions: a grid whose lines go on at both ends, because they are rings.
void draw_torus(PictureSvg& svg, const Level& level, double top) {
  constexpr int kMostRows = 4;
  const auto dims = level.torus.size();
  const int columns = std::min(level.torus[dims - 1], kMostDrawn);
  const int rows = dims > 1 ? std::min(level.torus[dims - 2], kMostRows) : 1;
  const double step = 30, left = kDrawing + 30, first = top + 60 - (rows - 1) * step / 2;
  for (int row = 0; row < rows; ++row)
    svg.line(left - 16, first + row * step, left + (columns - 1) * step + 16, first + row * step,
             "node");
  for (int column = 0; column < columns && rows > 1; ++column)
    svg.line(left + column * step, first - 16, left + column * step, first + (rows - 1) * step + 16,
             "node");
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      draw_unit(svg, left + column * step, first + row * step);
  if (columns < level.torus[dims - 1] || (dims > 1 && rows < level.torus[dims - 2]) || dims > 2)
    svg.text(left + columns * step + 4, first + (rows - 1) * step + 4, "...", "soft");
}

}  // namespace

std::string cluster_svg(const Cluster& cluster) {
  const ClusterDevice& device = cluster.device;
  const std::string title = fmt::format("{}: up to {} ranks of {}", cluster.name,
                                        cluster.levels.back().ranks, device.name);
  PictureSvg svg(kWidth, title);
  svg.heading(title);
  svg.text(kText, 42,
           fmt::format("{}, {:.3g} TB/s; {}",
                       short_bytes(static_cast<int64_t>(device.memory_bytes.value)),
                       device.memory_bandwidth.value / 1e12,
                       cluster.calibrated ? "calibrated" : "never calibrated"),
           "soft");
  double top = kTop;
  for (size_t i = cluster.levels.size(); i-- > 0; top += kRow) {
    const Level& level = cluster.levels[i];
    const int units = level.ranks / (i == 0 ? 1 : cluster.levels[i - 1].ranks);
    svg.line(kText, top, kWidth - kText, top);
    svg.text(kText, top + 24, fmt::format("{}: {} ranks", level.name, level.ranks), "head");
    svg.text(kText, top + 44, wiring_text(cluster, i), "soft");
    svg.text(kText, top + 62, rate_text(level), "soft");
    if (level.fully_connected)
      draw_connected(svg, units, top + 8);
    else if (!level.torus.empty())
      draw_torus(svg, level, top + 6);
    else
      draw_switch(svg, units, top + 6);
  }
  return svg.finish(top + 4);
}

}  // namespace tessera
