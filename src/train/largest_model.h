// SPDX-License-Identifier: Apache-2.0
// What each model of a family would need in memory, planned with a config's batch, precision and
// optimizer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/config.h"

namespace tessera {

struct FamilyMember {
  std::string preset;
  int64_t peak_bytes = 0;
};

// The presets of the config's family, smallest first.
std::vector<FamilyMember> family_members(const Config& config);

}  // namespace tessera
