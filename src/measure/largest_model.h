// SPDX-License-Identifier: Apache-2.0
// What each model of a family would need in a rank's memory, planned with a config's mesh and plan,
// batch, precision and optimizer, and with the snapshot for its checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace tessera {

struct FamilyMember {
  std::string preset;
  int64_t peak_bytes = 0;    // of the rank that needs most
  int64_t host_bytes = 0;    // likewise, of the host's memory
  std::string refusal = {};  // why the plan does not suit it; empty: it does

  // In the device's memory and, above 0, the host's.
  bool fits(int64_t memory, int64_t host_memory = 0) const {
    return refusal.empty() && peak_bytes <= memory &&
           (host_memory == 0 || host_bytes <= host_memory);
  }
};

// The presets of the config's family, smallest first, then those that the plan does not suit.
std::vector<FamilyMember> family_members(const Config& config);

}  // namespace tessera
