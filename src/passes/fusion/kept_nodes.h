// SPDX-License-Identifier: Apache-2.0
// A graph's nodes while a pass fuses some into others: it visits them in order, keeps a node or
// fuses it into one that was kept before, and rebuilds the graph from the kept nodes.
#pragma once

#include <set>
#include <vector>

#include "ir/graph.h"

namespace tessera {

class KeptNodes {
 public:
  explicit KeptNodes(Graph& graph);

  Node& keep(const Node& node);
  // The kept node that computes a value; kNone: an input. Later nodes have larger indices.
  int maker_of(ValueId value) const { return makers_[static_cast<size_t>(value)]; }
  Node& operator[](int index) { return nodes_[static_cast<size_t>(index)]; }
  // The node computes these values instead of its own.
  void give_results(int index, std::vector<ValueId> results);
  // What computed one value computes another, changed.
  void give_origin(ValueId from, ValueId to);
  void drop(int index) { dropped_.insert(index); }

  bool is_returned(ValueId value) const;
  bool read_once(ValueId value) const;  // by a node, and not returned

  void rebuild();

 private:
  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<int> makers_;
  std::vector<Node> nodes_;
  std::set<int> dropped_;
};

}  // namespace tessera
