// SPDX-License-Identifier: Apache-2.0
// The tensors of a compiled step and, of one of them, what each rank holds in use and at rest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "files/json.h"
#include "program/program.h"
#include "sim/cluster.h"

namespace tessera {

// Without a tensor the list of them. The cluster says which of its levels an axis spans.
Json placements_json(const std::vector<Program>& programs, const Cluster& cluster,
                     const std::optional<std::string>& wanted);

}  // namespace tessera
