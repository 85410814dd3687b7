// SPDX-License-Identifier: Apache-2.0
// Parameter groups in a config: [train.group."PATTERN"], in the order given.
#pragma once

#include "config/config.h"
#include "config/config_values.h"

namespace tessera {

// Sets one field, of a group that is there or a new one; false: the key is of no group.
bool apply_group(const ConfigValue& value, std::vector<ParameterGroup>& groups);

std::string group_text(const ParameterGroup& group);  // its fields as lines of TOML
std::vector<ConfigKey> group_keys();                  // for help and docs

}  // namespace tessera
