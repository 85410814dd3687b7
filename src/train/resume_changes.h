// SPDX-License-Identifier: Apache-2.0
// What a run that resumes does otherwise than the run that saved its checkpoint. Where and how it
// runs may change (mesh, plan, steps, logging); what decides the numbers (model, data, optimizer)
// must be the same, unless the user accepts the change by its key.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "config/config.h"

namespace tessera {

struct ConfigChange {
  std::string key, before, now;
  bool changes_numbers = false;
};

// By key, in the order of the config. Before its first step a checkpoint (an imported model) knows
// only its model, so only that is compared.
std::vector<ConfigChange> resume_changes(const CheckpointFacts& saved, const Config& now);

// A UserError where one that changes the numbers is not among `accepted`: keys, or sections such as
// "data".
void require_accepted(std::span<const ConfigChange> changes, std::span<const std::string> accepted);

// A UserError where one is neither a key nor a section of the config.
void check_accepted_names(std::span<const std::string> accepted);

// "train.steps 100 -> 200, mesh dp=2 -> dp=1"
std::string to_text(std::span<const ConfigChange> changes);

}  // namespace tessera
