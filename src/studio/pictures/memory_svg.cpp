// SPDX-License-Identifier: Apache-2.0
// Memory as a picture: what the fullest rank holds over the step, kind above kind, against the
// device's memory.
#include <algorithm>
#include <map>
#include <span>

#include "core/quantities.h"
#include "program/kept_bytes.h"
#include "report/figure_text.h"
#include "studio/compiled_step.h"
#include "studio/pictures/picture_svg.h"
#include "studio/pictures/pictures.h"
#include "studio/step_memory.h"

namespace tessera {
namespace {

constexpr double kMemoryWide = 900, kMemoryLeft = 76, kMemoryRight = 14, kMemoryTop = 78,
                 kMemoryTall = 190, kLimitShown = 6;

struct MemoryPoint {
  double seconds = 0;
  int64_t activations = 0;  // bytes
};

struct MemoryChart {
  double seconds = 1, most_bytes = 1;
  double x(double at) const {
    return kMemoryLeft + at / seconds * (kMemoryWide - kMemoryLeft - kMemoryRight);
  }
  double y(double bytes) const { return kMemoryTop + kMemoryTall * (1 - bytes / most_bytes); }
};

// What is kept just then, finer than the plan reserves it: block by block and, where blocks are
// recomputed, checkpoint by checkpoint. Never more than the plan.
class KeptNow {
 public:
  explicit KeptNow(const Program& program)
      : program_(program), memory_(program), blocks_(program) {}

  // Calls come in the script's order.
  int64_t bytes_at(size_t call) {
    const ScriptCall& at = program_.script("train_step").calls[call];
    const int64_t by_block = blocks_.during(at) - (program_.peak_bytes() - program_.slot_bytes);
    note_checkpoints(at);
    int64_t bytes = program_.recomputes ? 0 : by_block;
    for (const KeptActivations& each : memory_.alive_at(call)) {
      const bool slot = each.repeat == Repeat::PerSlot;
      if (each.repeat == Repeat::Checkpoint)
        bytes += std::min(each.bytes, checkpoints_[{each.unit, each.microbatch}]);
      else if (each.repeat != Repeat::Away && (!slot || program_.recomputes))
        bytes += each.bytes;
    }
    return std::min(bytes, memory_.filled_bytes()[call]);
  }

 private:
  // The forward goes up in the checkpoints of its stage, the backward down again.
  void note_checkpoints(const ScriptCall& call) {
    const ProgramBlock& block = program_.blocks[static_cast<size_t>(call.block)];
    const ProgramClass& program_class = program_.class_of(block);
    int64_t reach = 0;
    for (const Instruction& instruction : program_class.routine(call.routine))
      for (const std::span<const int> buffers : {reads(instruction), writes(instruction)})
        for (const int buffer : buffers)
          if (const auto at = static_cast<size_t>(buffer); block.repeats[at] == Repeat::Checkpoint)
            reach = std::max(reach, block.offsets[at] + program_class.buffers[at].type.bytes());
    int64_t& now = checkpoints_[{block.stage, call.microbatch}];
    if (side(call.routine) == StepSide::Forward) now = std::max(now, reach);
    if (side(call.routine) == StepSide::Backward && reach > 0) now = reach;
  }

  const Program& program_;
  StepMemory memory_;
  KeptBytes blocks_;
  std::map<std::pair<int, int>, int64_t> checkpoints_;  // by stage and microbatch
};

std::vector<MemoryPoint> activations_over_time(const Program& program, const SimulatedRank& rank) {
  KeptNow kept(program);
  const Script& script = program.script("train_step");
  const int64_t other = program.bytes(BufferKind::Activation) - program.slot_bytes;
  std::vector<MemoryPoint> points;
  for (const Slice& slice : rank.trace.routines) {
    const auto call = static_cast<size_t>(slice.call - script.calls.data());
    const int64_t bytes = other + kept.bytes_at(call);
    if (points.empty() || points.back().activations != bytes)
      points.push_back({slice.begin_seconds, bytes});
  }
  return points;
}

struct KindBand {
  std::string_view kind;
  std::string words;
  int64_t bytes;
};

// What stays all the time, from below.
std::vector<KindBand> fixed_bands(const Program& program) {
  int64_t rest = program.peak_bytes() - program.bytes(BufferKind::Activation);
  std::vector<KindBand> bands;
  const auto add = [&](BufferKind kind, std::string_view colour, std::string_view words) {
    rest -= program.bytes(kind);
    bands.push_back({colour, std::string(words), program.bytes(kind)});
  };
  add(BufferKind::Parameter, fill::kBlue, "parameters");
  add(BufferKind::Optimizer, fill::kOrange, "optimizer");
  add(BufferKind::Gradient, fill::kGreen, "gradients");
  bands.push_back({fill::kGrey, "scratch, inputs", rest});
  return bands;
}

void draw_bands(PictureSvg& svg, const MemoryChart& chart, const std::vector<KindBand>& bands,
                const std::vector<MemoryPoint>& activations) {
  double below = 0;
  for (const KindBand& band : bands) {
    const auto bytes = static_cast<double>(band.bytes);
    svg.box(chart.x(0), chart.y(below + bytes), chart.x(chart.seconds) - chart.x(0),
            chart.y(below) - chart.y(below + bytes), band.kind,
            band.words + " " + short_bytes(band.bytes));
    below += bytes;
  }
  const auto height = [&](const MemoryPoint& point) {
    return chart.y(below + static_cast<double>(point.activations));
  };
  std::string path = fmt::format("M{:.1f} {:.1f}", chart.x(0), chart.y(below));
  double drawn = -1;
  for (size_t i = 0; i < activations.size(); ++i) {
    const double x = chart.x(activations[i].seconds), y = height(activations[i]);
    // Of the steps within a pixel the last is enough, but for the fullest.
    const bool last = i + 1 == activations.size() || chart.x(activations[i + 1].seconds) - x > 0.4;
    if (!last && y > drawn - 0.1 && drawn >= 0) continue;
    path += fmt::format("H{:.1f}V{:.1f}", x, y);
    drawn = last ? -1 : y;
  }
  path += fmt::format("H{:.1f}V{:.1f}Z", chart.x(chart.seconds), chart.y(below));
  svg.area(path, fill::kViolet);
}

void draw_memory_axes(PictureSvg& svg, const MemoryChart& chart) {
  const bool small = chart.most_bytes < 2e9;
  const double unit = small ? 1e6 : 1e9, tick = tick_of(chart.most_bytes / unit, 5);
  for (int i = 0; i * tick * unit <= chart.most_bytes; ++i) {
    const double y = chart.y(i * tick * unit);
    svg.line(kMemoryLeft, y, kMemoryWide - kMemoryRight, y);
    svg.text(kMemoryLeft - 6, y + 4, fmt::format("{:g} {}", i * tick, small ? "MB" : "GB"),
             "small end");
  }
  const double bottom = kMemoryTop + kMemoryTall, time = tick_of(chart.seconds, 8);
  for (int i = 0; chart.x(i * time) < kMemoryWide - 2 * kMemoryRight; ++i)
    svg.text(chart.x(i * time), bottom + 16, i == 0 ? "0" : seconds_text(i * time),
             i == 0 ? "small" : "small mid");
}

}  // namespace

std::string draw_memory(const SimulatedStep& step) {
  const std::vector<Program>& programs = step.compiled.programs;
  const Program& program = largest_program(programs);
  const auto place = static_cast<size_t>(&program - programs.data());
  const SimulatedRank& rank = step.simulation.ranks[place];
  const double device =
      step.cluster.device.memory_bytes.value / (step.cluster.device.cores > 0 ? step.ranks() : 1);
  const auto peak = static_cast<double>(program.peak_bytes());
  const MemoryChart chart{step.simulation.first_seconds, device < peak * kLimitShown
                                                             ? std::max(device, peak) * 1.06
                                                             : peak * 1.06};
  PictureSvg svg(kMemoryWide, "Memory of a step: " + picture_title(step));
  svg.heading(picture_title(step));
  svg.text(14, 41,
           fmt::format("rank {}, the fullest: at most {} planned, {} of it activations; the device "
                       "has {}{}",
                       rank.rank, short_bytes(program.peak_bytes()),
                       short_bytes(program.bytes(BufferKind::Activation)),
                       short_bytes(static_cast<int64_t>(device)),
                       device <= chart.most_bytes ? " (dashed)" : ""));
  const std::vector<KindBand> bands = fixed_bands(program);
  std::vector<std::pair<std::string_view, std::string>> legend;
  for (const KindBand& band : bands)
    legend.emplace_back(band.kind, band.words + " " + short_bytes(band.bytes));
  legend.emplace_back(fill::kViolet, "activations");
  svg.legend(14, 61, legend);
  draw_memory_axes(svg, chart);
  draw_bands(svg, chart, bands, activations_over_time(program, rank));
  if (device <= chart.most_bytes)
    svg.line(kMemoryLeft, chart.y(device), kMemoryWide - kMemoryRight, chart.y(device), "limit");
  return svg.finish(kMemoryTop + kMemoryTall + 28);
}

}  // namespace tessera
