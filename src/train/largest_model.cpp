// SPDX-License-Identifier: Apache-2.0
#include "train/largest_model.h"

#include <algorithm>

#include "compiler/compile.h"
#include "models/build_model.h"
#include "models/presets.h"
#include "train/model_of_config.h"
#include "train/training_options.h"

namespace tessera {

std::vector<FamilyMember> family_members(const Config& config) {
  const Family family = model_of_config(config).family;
  std::vector<FamilyMember> members;
  for (const Preset& preset : presets()) {
    if (preset.config.family != family) continue;
    const ModelConfig model = resolved(preset.config);
    if (config.train.seq > model.context && family != Family::Mlp) continue;
    const Compiled compiled = compile(build_model(model, microbatch_shape(config, model),
                                                  precision_of_config(config), HeadKind::Loss),
                                      training_options(config, {}, threads_of_config(config)));
    members.push_back(
        {.preset = std::string(preset.name), .peak_bytes = compiled.program().peak_bytes()});
  }
  std::sort(members.begin(), members.end(), [](const FamilyMember& a, const FamilyMember& b) {
    return a.peak_bytes < b.peak_bytes;
  });
  return members;
}

}  // namespace tessera
