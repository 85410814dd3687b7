// SPDX-License-Identifier: Apache-2.0
// Bytes as a picture: memory by kind, a bar for each stage, and what a rank gives to collectives.
#include <algorithm>

#include "core/quantities.h"
#include "program/collective_table.h"
#include "studio/pictures/picture_svg.h"
#include "studio/pictures/pictures.h"

namespace tessera {
namespace {

constexpr double kBytesWide = 900, kBytesEdge = 14, kBytesLeft = 190, kBytesRight = 100, kBar = 18,
                 kBarStep = 24;
constexpr size_t kMostStages = 16, kMostCollectives = 14;

// By BufferKind.
constexpr std::array<std::string_view, kNumBufferKinds> kKindFills{
    fill::kBlue, fill::kGreen, fill::kOrange, fill::kViolet, fill::kYellow, fill::kGrey};

double bar_room() { return kBytesWide - kBytesLeft - kBytesRight; }

double draw_stages(PictureSvg& svg, const SimulatedStep& step, double y) {
  const std::vector<Program>& programs = step.compiled.programs;
  const double device =
      step.cluster.device.memory_bytes.value / (step.cluster.device.cores > 0 ? step.ranks() : 1);
  const auto peak = static_cast<double>(step.simulation.peak_bytes);
  const bool limited = device < 3 * peak;
  const double most = limited ? std::max(peak, device) : peak;
  const double top = y;
  for (size_t i = 0; i < std::min(programs.size(), kMostStages); ++i) {
    const Program& program = programs[i];
    svg.text(
        kBytesEdge, y + 13,
        fmt::format("{}: {}",
                    programs.size() == 1 ? "memory of a rank" : fmt::format("memory, pp={}", i),
                    short_bytes(program.peak_bytes())));
    double x = kBytesLeft;
    for (size_t kind = 0; kind < kKindFills.size(); ++kind) {
      const auto bytes = static_cast<double>(program.bytes_by_kind[kind]);
      const double width = bytes / most * bar_room();
      if (width < 0.2) continue;
      const std::string words = fmt::format("{} {}", name(static_cast<BufferKind>(kind)),
                                            short_bytes(program.bytes_by_kind[kind]));
      svg.box(x, y, std::max(width - 0.6, 0.4), kBar, kKindFills[kind], words);
      svg.label(x, y + 13, width, short_bytes(program.bytes_by_kind[kind]));
      x += width;
    }
    y += kBarStep;
  }
  if (limited) {
    const double x = kBytesLeft + device / most * bar_room();
    svg.line(x, top - 5, x, y, "limit");
    svg.text(x, top - 9, fmt::format("{} of the device", short_bytes(static_cast<int64_t>(device))),
             "small mid");
  }
  return y;
}

double draw_collectives(PictureSvg& svg, const SimulatedStep& step, double y) {
  const Program& program = step.compiled.programs.front();
  std::vector<CollectiveRow> rows = collective_table(program, program.script("train_step"));
  std::ranges::stable_sort(rows, std::greater(), &CollectiveRow::bytes);
  constexpr int64_t kLeastBytes = 1024;
  std::erase_if(rows, [](const CollectiveRow& row) { return row.bytes < kLeastBytes; });
  rows.resize(std::min(rows.size(), kMostCollectives));
  if (rows.empty()) return y;
  svg.text(kBytesEdge, y + 12, "What a rank gives to collectives in a step", "head");
  y += 22;
  for (const CollectiveRow& row : rows) {
    svg.text(kBytesEdge, y + 13, fmt::format("{} {}", row.op, row.axes));
    const double width = std::max(
        0.6, static_cast<double>(row.bytes) / static_cast<double>(rows.front().bytes) * bar_room());
    const double hidden =
        row.calls == 0 ? 0
                       : width * static_cast<double>(row.hidden) / static_cast<double>(row.calls);
    svg.box(kBytesLeft, y, width, kBar, fill::kWait);
    if (hidden > 0.4) svg.box(kBytesLeft, y, hidden, kBar, fill::kTeal);
    const std::string words = fmt::format("{}, {} calls", name(row.routine), row.calls);
    if (text_width(words) + 6 <= width) svg.label(kBytesLeft, y + 13, width, words);
    svg.text(kBytesLeft + width + 6, y + 13,
             text_width(words) + 6 <= width
                 ? short_bytes(row.bytes)
                 : fmt::format("{} ({})", short_bytes(row.bytes), words));
    y += kBarStep;
  }
  return y;
}

}  // namespace

std::string draw_bytes(const SimulatedStep& step) {
  PictureSvg svg(kBytesWide, "Bytes of a step: " + picture_title(step));
  svg.heading(picture_title(step));
  std::vector<std::pair<std::string_view, std::string>> legend;
  for (size_t kind = 0; kind < kKindFills.size(); ++kind)
    legend.emplace_back(kKindFills[kind], std::string(name(static_cast<BufferKind>(kind))));
  const bool talks = step.ranks() > 1;
  if (talks) {
    legend.emplace_back(fill::kTeal, "overlaps with kernels");
    legend.emplace_back(fill::kWait, "does not");
  }
  svg.legend(kBytesEdge, 42, legend);
  const double stages = draw_stages(svg, step, 72);
  return svg.finish(draw_collectives(svg, step, stages + 6) + 10);
}

}  // namespace tessera
