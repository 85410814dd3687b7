// SPDX-License-Identifier: Apache-2.0
// Evaluates a graph node by node with the CPU kernels, every value in its own memory: the reference
// for a planned program.
#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"
#include "ir/graph.h"
#include "ops/testing/host_tensor.h"

namespace tessera {

using HostTensors = std::map<std::string, HostTensor, std::less<>>;

// `inputs` holds every input of the graph by name; the answer holds every value by name.
// Collectives need the other ranks of the mesh.
HostTensors evaluate_graph(const Graph& graph, HostTensors inputs, int threads = 1,
                           const Mesh& mesh = {}, RankWorld* world = nullptr);

}  // namespace tessera
