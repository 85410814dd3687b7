// SPDX-License-Identifier: Apache-2.0
#include "passes/fusion/kept_nodes.h"

#include <algorithm>
#include <utility>

namespace tessera {

KeptNodes::KeptNodes(Graph& graph)
    : graph_(graph),
      readers_(graph.readers()),
      makers_(static_cast<size_t>(graph.num_values()), kNone) {}

Node& KeptNodes::keep(const Node& node) {
  nodes_.push_back(node);
  give_results(static_cast<int>(nodes_.size()) - 1, node.results);
  return nodes_.back();
}

void KeptNodes::give_results(int index, std::vector<ValueId> results) {
  for (const ValueId result : results) makers_[static_cast<size_t>(result)] = index;
  (*this)[index].results = std::move(results);
}

void KeptNodes::give_origin(ValueId from, ValueId to) {
  graph_.value(to).origin = graph_.value(from).origin;
  graph_.value(to).origin.changed = true;
}

bool KeptNodes::is_returned(ValueId value) const {
  return std::any_of(graph_.outputs().begin(), graph_.outputs().end(),
                     [&](const GraphOutput& output) { return output.value == value; });
}

bool KeptNodes::read_once(ValueId value) const {
  return readers_[static_cast<size_t>(value)].size() == 1 && !is_returned(value);
}

void KeptNodes::rebuild() {
  std::vector<Node> left;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (!dropped_.contains(static_cast<int>(i))) left.push_back(std::move(nodes_[i]));
  graph_.rebuild(std::move(left));
}

}  // namespace tessera
