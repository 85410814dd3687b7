// SPDX-License-Identifier: Apache-2.0
#include "plans_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/quantities.h"
#include "planner/search.h"
#include "studio/pictures/picture_svg.h"

namespace tessera {
namespace {

// In pixels.
constexpr double kWidth = 860, kRow = 40, kTop = 84, kLeft = 24, kRight = 150, kBar = 14;

struct StepPart {
  std::string_view name, colour;
  double StepTimes::*seconds;
};

constexpr auto kStepParts = std::to_array<StepPart>({
    {"compute", fill::kBlue, &StepTimes::compute_seconds},
    {"exposed communication", fill::kOrange, &StepTimes::exposed_communication_seconds},
    {"bubble", fill::kGrey, &StepTimes::bubble_seconds},
});

void draw_plan(PictureSvg& svg, const Trial& trial, double y, double pixels_per_second) {
  const Simulation& simulation = trial.simulation;
  svg.text(kLeft, y + 11, to_string(trial.candidate), "small");
  double x = kLeft;
  for (const StepPart& part : kStepParts) {
    const double width = simulation.times.*part.seconds * pixels_per_second;
    if (width > 0)
      svg.box(x, y + 17, width, kBar, part.colour,
              fmt::format("{}: {:.4g} s", part.name, simulation.times.*part.seconds));
    x += width;
  }
  svg.text(kWidth - kRight + 12, y + 28,
           fmt::format("{:.4g} s, mfu {:.3f}, {}", simulation.step_seconds, simulation.mfu,
                       short_bytes(simulation.peak_bytes)),
           "small");
}

}  // namespace

std::string plans_svg(std::span<const Trial> ranked, const std::string& title) {
  ranked = ranked.first(std::min(kRankedPlans, ranked.size()));
  double longest = 0;
  for (const Trial& trial : ranked) longest = std::max(longest, trial.simulation.step_seconds);
  PictureSvg svg(kWidth, title);
  svg.heading(title);
  std::vector<std::pair<std::string_view, std::string>> names;
  for (const StepPart& part : kStepParts) names.emplace_back(part.colour, part.name);
  svg.legend(kLeft, 56, names);
  double y = kTop;
  for (const Trial& trial : ranked) {
    draw_plan(svg, trial, y, (kWidth - kLeft - kRight) / longest);
    y += kRow;
  }
  return svg.finish(y + 12);
}

}  // namespace tessera
