// SPDX-License-Identifier: Apache-2.0
// Clusters that are based on a named one say only what differs from it.
#pragma once

#include <string>

#include "files/toml_document.h"

namespace tessera {

// The cluster's table with all that the one that `based_on` names says and it does not.
TomlValue with_base(const TomlValue& table, const std::string& origin);

}  // namespace tessera
