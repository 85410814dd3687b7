// SPDX-License-Identifier: Apache-2.0
// Tensor parallelism sums activations twice per layer and direction: its groups should not reach
// beyond one machine.
#pragma once

#include <span>
#include <string>

#include "mesh/mesh.h"

namespace tessera {

// What to tell the user; "" where every tp group stays on one machine. `machines` has a number for
// each rank; empty: all ranks share one.
std::string tp_leaves_machine(const Mesh& mesh, std::span<const int> machines);

}  // namespace tessera
