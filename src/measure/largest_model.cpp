// SPDX-License-Identifier: Apache-2.0
#include "measure/largest_model.h"

#include <algorithm>

#include "compiler/compile.h"
#include "config/model_of_config.h"
#include "config/training_options.h"
#include "measure/compile_step.h"
#include "models/build_model.h"
#include "models/presets.h"

namespace tessera {

namespace {

FamilyMember member_of(const Preset& preset, const Config& config) {
  const ModelConfig model = resolved(preset.config);
  FamilyMember member{.preset = std::string(preset.name)};
  try {
    const Plan plan = plan_of_config(config, model);
    CompileOptions options =
        training_options(config, plan, threads_per_rank(threads_of_config(config), plan));
    options.check = false;  // nobody runs them
    const Compiled compiled = compile(build_model(model, microbatch_shape(config, model),
                                                  precision_of_config(config), HeadKind::Loss),
                                      options);
    member.peak_bytes =
        most_bytes(compiled.programs) + snapshot_bytes_of_rank(config, compiled.programs);
  } catch (const UserError& error) {
    member.refusal = error.message();
  }
  return member;
}

}  // namespace

std::vector<FamilyMember> family_members(const Config& config) {
  const Family family = model_of_config(config).family;
  std::vector<FamilyMember> members;
  for (const Preset& preset : presets())
    if (preset.config.family == family) members.push_back(member_of(preset, config));
  std::stable_sort(members.begin(), members.end(),
                   [](const FamilyMember& a, const FamilyMember& b) {
                     return std::pair(!a.refusal.empty(), a.peak_bytes) <
                            std::pair(!b.refusal.empty(), b.peak_bytes);
                   });
  return members;
}

}  // namespace tessera
