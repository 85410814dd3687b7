// SPDX-License-Identifier: Apache-2.0
// The mesh as a picture: ranks in their nodes, coloured by what they hold of the model, and what a
// rank sends along each axis over which links.
#include <algorithm>
#include <map>

#include "core/quantities.h"
#include "mesh/axes.h"
#include "program/collective_table.h"
#include "studio/pictures/picture_svg.h"
#include "studio/pictures/pictures.h"

namespace tessera {
namespace {

constexpr double kMeshWide = 900, kMeshEdge = 14, kCellWide = 48, kCellTall = 30, kCellGap = 4,
                 kNodePad = 8, kNodeHead = 18;
constexpr int kMostCells = 64;
constexpr int64_t kWorthALine = 1024;  // bytes that are worth a line
constexpr std::array<std::string_view, 8> kPartFills{fill::kBlue,   fill::kGreen, fill::kOrange,
                                                     fill::kViolet, fill::kTeal,  fill::kYellow,
                                                     fill::kPink,   fill::kGrey};

// Which ranks have one colour: those that are at one place along these axes.
struct Colouring {
  AxisIds axes;
  std::string words;
};

// By what ranks keep, as far as the colours go; by the stage; by the place along the last axis.
Colouring colouring_of(const Program& program) {
  const Mesh& mesh = program.mesh;
  AxisIds model, kept;
  const AxisIds shards = program.states.empty() ? AxisIds{} : program.states[0].place.shard_axes;
  for (int i = 0; i < mesh.num_axes(); ++i) {
    const AxisRow* row = find_axis(mesh.axes()[static_cast<size_t>(i)].name);
    const bool splits = row && !row->replicates_parameters;
    if (splits) model.push_back(i);
    if (splits || std::ranges::find(shards, i) != shards.end()) kept.push_back(i);
  }
  const auto few = [&](const AxisIds& axes) {
    return mesh.size(axes) <= static_cast<int>(kPartFills.size());
  };
  if (few(kept)) return {kept, "keep the same parameters"};
  if (few(model)) return {model, "compute with the same parameters"};
  for (int i = mesh.num_axes() - 1; i >= 0; --i)
    if (mesh.size(i) > 1 && few({i}))
      return {{i},
              fmt::format("have one place along {}", mesh.axes()[static_cast<size_t>(i)].name)};
  return {{}, "are ranks of the mesh"};
}

std::string coordinates_text(const Mesh& mesh, int rank) {
  std::string text;
  for (int i = 0; i < mesh.num_axes(); ++i)
    if (mesh.size(i) > 1)
      text += fmt::format("{}{}", text.empty() ? "" : " ", mesh.coordinate(rank, i));
  return text;
}

std::string axes_text(const Mesh& mesh) {
  std::string text;
  for (int i = 0; i < mesh.num_axes(); ++i)
    if (mesh.size(i) > 1)
      text += (text.empty() ? "" : " ") + mesh.axes()[static_cast<size_t>(i)].name;
  return text;
}

double draw_nodes(PictureSvg& svg, const SimulatedStep& step, double top) {
  const Mesh& mesh = step.compiled.programs.front().mesh;
  const int ranks = mesh.num_ranks(), shown = std::min(ranks, kMostCells);
  const bool shared = step.cluster.device.cores > 0;
  const int in_node = shared ? ranks : std::min(step.cluster.levels.front().ranks, ranks);
  const AxisIds parts = colouring_of(step.compiled.programs.front()).axes;
  const int columns = std::min(in_node, 8),
            rows = (std::min(in_node, shown) + columns - 1) / columns;
  const double wide = std::max(columns * (kCellWide + kCellGap) - kCellGap + 2 * kNodePad,
                               shared ? text_width(step.cluster.device.name) + 2 * kNodePad : 0);
  const double tall = rows * (kCellTall + kCellGap) - kCellGap + kNodePad + kNodeHead;
  const int across = std::max(1, static_cast<int>((kMeshWide - 2 * kMeshEdge + 10) / (wide + 10)));
  double bottom = top;
  for (int rank = 0; rank < shown; ++rank) {
    const int node = rank / in_node, at = rank % in_node;
    const int node_row = node / across, cell_row = at / columns;
    const double x = kMeshEdge + (node % across) * (wide + 10);
    const double y = top + node_row * (tall + 10);
    if (at == 0) {
      svg.box(x, y, wide, tall, "node");
      svg.text(x + kNodePad, y + 13,
               shared ? step.cluster.device.name : fmt::format("node {}", node), "small");
      bottom = y + tall;
    }
    const double cell_x = x + kNodePad + (at % columns) * (kCellWide + kCellGap);
    const double cell_y = y + kNodeHead + cell_row * (kCellTall + kCellGap);
    svg.box(cell_x, cell_y, kCellWide, kCellTall,
            kPartFills[static_cast<size_t>(mesh.index(rank, parts)) % kPartFills.size()]);
    svg.text(cell_x + kCellWide / 2, cell_y + 13, fmt::format("{}", rank), "in mid");
    svg.text(cell_x + kCellWide / 2, cell_y + 25, coordinates_text(mesh, rank), "in mid");
  }
  if (shown == ranks) return bottom;
  svg.text(kMeshEdge, bottom + 16, fmt::format("and {} more ranks", ranks - shown));
  return bottom + 18;
}

// The outermost links that a group crosses.
std::string link_of(const SimulatedStep& step, const AxisIds& axes) {
  const Mesh& mesh = step.compiled.programs.front().mesh;
  const std::vector<int> group = mesh.group(0, axes);
  const auto& levels = step.cluster.levels;
  for (const Level& level : levels)
    if (group.back() / level.ranks == group.front() / level.ranks) return level.name;
  return levels.back().name;
}

struct AxisTraffic {
  int64_t calls = 0, hidden = 0, bytes = 0;
  std::map<std::string, int64_t> ops;  // calls
};

double draw_traffic(PictureSvg& svg, const SimulatedStep& step, double top) {
  const Program& program = step.compiled.programs.front();
  std::map<AxisIds, AxisTraffic> traffic;
  for (const CollectiveRow& row : collective_table(program, program.script("train_step"))) {
    AxisTraffic& sum = traffic[program.mesh.parse_word(row.axes)];
    sum.calls += row.calls;
    sum.hidden += row.hidden;
    sum.bytes += row.bytes;
    sum.ops[row.op] += row.calls;
  }
  double y = top + 8;
  for (const auto& [ids, sum] : traffic) {
    if (sum.bytes < kWorthALine) continue;
    std::string ops;
    for (const auto& [op, calls] : sum.ops)
      ops += fmt::format("{}{} {}", ops.empty() ? "" : ", ", calls, op);
    svg.text(kMeshEdge, y + 12, program.mesh.word(ids), "head");
    svg.text(kMeshEdge + 110, y + 12,
             fmt::format("groups of {} (links: {}): {}; {} a rank puts in, {} of {} overlapped",
                         program.mesh.size(ids), link_of(step, ids), ops, short_bytes(sum.bytes),
                         sum.hidden, sum.calls));
    y += 18;
  }
  return y;
}

}  // namespace

std::string draw_mesh(const SimulatedStep& step) {
  const Mesh& mesh = step.compiled.programs.front().mesh;
  PictureSvg svg(kMeshWide, "The mesh: " + picture_title(step));
  svg.heading(picture_title(step));
  const std::string axes = axes_text(mesh);
  svg.text(kMeshEdge, 41,
           axes.empty() ? "one rank"
                        : fmt::format("number of the rank, and its place along {}; ranks of one "
                                      "colour {}",
                                      axes, colouring_of(step.compiled.programs.front()).words));
  const double nodes = draw_nodes(svg, step, 54);
  return svg.finish(draw_traffic(svg, step, nodes) + 12);
}

}  // namespace tessera
