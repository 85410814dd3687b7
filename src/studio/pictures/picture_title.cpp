// SPDX-License-Identifier: Apache-2.0
// What distinguishes one plan from another, on top of its picture.
#include "studio/pictures/pictures.h"

namespace tessera {

std::string picture_title(const SimulatedStep& step) {
  const PlanConfig& plan = step.config.plan;
  const Mesh& mesh = step.spec.plan.mesh;
  const auto above_one = [&](std::string_view axis) {
    const int found = mesh.find(axis);
    return found >= 0 && mesh.size(found) > 1;
  };
  std::string extra;
  const auto add = [&](bool holds, std::string_view words) {
    if (holds) extra += fmt::format(", {}", words);
  };
  add(above_one("pp"), step.compiled.programs.size() > 1 ? plan.schedule : "");
  add(plan.sequence_parallel && step.ranks() > 1, "sequence parallel");
  add(above_one("cp"), name(plan.context));
  add(above_one("ep"), fmt::format("dispatch {}", name(plan.dispatch)));
  add(plan.recompute != "none", "recompute " + plan.recompute);
  return title_of(step) + extra;
}

}  // namespace tessera
