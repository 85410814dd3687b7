// SPDX-License-Identifier: Apache-2.0
#include "measure/largest_model.h"

#include <algorithm>

#include "checkpoint/snapshot.h"
#include "models/presets.h"

namespace tessera {

namespace {

FamilyMember member_of(const Preset& preset, Config config) {
  config.model = {{"preset", std::string(preset.name)}};
  FamilyMember member{.preset = std::string(preset.name)};
  try {
    const RunSpec spec = resolve(config);
    const Compiled compiled = compile(spec, {.check = false});  // nobody runs them
    member.peak_bytes =
        most_bytes(compiled.programs) + snapshot_bytes_of_rank(spec, compiled.programs);
    for (const Program& program : compiled.programs)
      member.host_bytes = std::max(member.host_bytes, program.host_bytes());
  } catch (const UserError& error) {
    member.refusal = error.message();
  }
  return member;
}

}  // namespace

std::vector<FamilyMember> family_members(const Config& config) {
  const Family family = resolve_model(config).family;
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
