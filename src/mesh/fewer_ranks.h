// SPDX-License-Identifier: Apache-2.0
// The mesh that a run goes on with when it cannot go on with all its ranks.
#pragma once

#include <optional>

#include "mesh/mesh.h"

namespace tessera {

// The first axis of dp, fsdp, cp, tp, pp that has several ranks gets its largest proper divisor, so
// that whatever could be split before can be split still. Nothing where one rank is left.
std::optional<Mesh> fewer_ranks(const Mesh& mesh);

}  // namespace tessera
