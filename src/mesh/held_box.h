// SPDX-License-Identifier: Apache-2.0
// The box of a whole tensor that a rank holds: where it begins and how long it is along each dim,
// padding left out.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/placement.h"

namespace tessera {

struct HeldBox {
  std::vector<int64_t> first, count;  // by dim; a count of 0: the rank holds padding alone
};

HeldBox held_box(const Mesh& mesh, int rank, const Dims& dims, const Placement& placement);

}  // namespace tessera
