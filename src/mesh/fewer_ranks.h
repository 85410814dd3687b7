// SPDX-License-Identifier: Apache-2.0
// The mesh that a run continues with when it cannot continue with all its ranks.
#pragma once

#include <optional>

#include "mesh/mesh.h"

namespace tessera {

// The first axis that has several ranks, the pipeline last, gets its largest proper divisor, so
// that whatever could be split before can still be split. Nothing where one rank is left.
std::optional<Mesh> fewer_ranks(const Mesh& mesh);

}  // namespace tessera
