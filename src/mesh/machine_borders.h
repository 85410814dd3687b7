// SPDX-License-Identifier: Apache-2.0
// Some axes, such as tp, communicate in every layer: their groups should not reach beyond one
// machine.
#pragma once

#include <span>
#include <string>

#include "mesh/mesh.h"

namespace tessera {

// What to tell the user; "" where every such group stays on one machine. `machines` has a number
// for each rank; empty: all ranks share one.
std::string warn_of_machine_borders(const Mesh& mesh, std::span<const int> machines);

}  // namespace tessera
