// SPDX-License-Identifier: Apache-2.0
#include "config/config_notes.h"

#include <fmt/format.h>

namespace tessera {

std::vector<std::string> notes_on(const Config& config) {
  std::vector<std::string> notes;
  const Mesh mesh(config.mesh);
  const int pp = mesh.find("pp");
  if (config.plan.schedule != PlanConfig{}.schedule && (pp < 0 || mesh.size(pp) == 1))
    notes.push_back(fmt::format("plan.schedule = {} does nothing: the mesh {} has no pipeline (pp)",
                                config.plan.schedule, to_string(mesh)));
  return notes;
}

}  // namespace tessera
