// SPDX-License-Identifier: Apache-2.0
// From a node of the IR to an instruction. Here alone the attributes of collectives and of padding
// are read as text.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "program/program.h"

namespace tessera {

// Adds the groups that the graph's collectives name; the table stays sorted by name, so that all
// ranks make their groups in one order.
void add_groups(const Graph& graph, const Mesh& mesh, std::vector<Group>& groups);

// Buffers are the node's values; `operands` are their types.
Instruction translate_node(const Node& node, std::span<const TensorType> operands,
                           std::span<const Group> groups);

}  // namespace tessera
