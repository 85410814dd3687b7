// SPDX-License-Identifier: Apache-2.0
// The keys of [islands].
#pragma once

#include "config/config_fields.h"

namespace tessera {

std::vector<ConfigField> island_fields(IslandsConfig& islands);

}  // namespace tessera
