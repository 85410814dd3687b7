// SPDX-License-Identifier: Apache-2.0
#include "config/config_notes.h"

#include <fmt/format.h>

#include "mesh/axis_sizes.h"

namespace tessera {

std::vector<std::string> notes_on(const Config& config) {
  std::vector<std::string> notes;
  const Mesh mesh(config.mesh);
  const bool pipeline = sizes_of(config.mesh)[AxisKind::Pp] > 1;
  if (config.plan.schedule != PlanConfig{}.schedule && !pipeline)
    notes.push_back(fmt::format("plan.schedule = {} does nothing: the mesh {} has no pipeline (pp)",
                                config.plan.schedule, to_string(mesh)));
  return notes;
}

}  // namespace tessera
