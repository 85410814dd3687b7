// SPDX-License-Identifier: Apache-2.0
// The nodes of one ring, added to a graph whose nodes are being rewritten: shifts, pieces of whole
// values, and the same op on a piece.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tessera {

struct Ring {
  std::string axes;  // as a word, "tp" or "tp.group+tp.kv"
  int64_t ranks = 1;
  std::string dim;  // whose pieces travel
};

class RingNodes {
 public:
  // Adds to `done`, the graph's nodes to be.
  RingNodes(Graph& graph, Ring ring, int num_axes, std::vector<Node>& done);

  const Ring& ring() const { return ring_; }
  bool has_dim(ValueId value) const { return graph_.value(value).type.has(ring_.dim); }

  // What the rank before has.
  ValueId shift(ValueId value, Phase phase);
  // Of a value that is whole; once for each hop.
  ValueId piece(ValueId whole, int64_t hop, Phase phase);
  // The node on other operands.
  std::vector<ValueId> repeat(const Node& node, std::vector<ValueId> operands);
  // `result` is the pieces joined, in the order of the hops.
  void join(ValueId result, const std::vector<ValueId>& pieces, Phase phase);
  // `result` is x + y.
  void add(ValueId result, ValueId x, ValueId y, Phase phase);
  // The same as a new value.
  ValueId added(ValueId x, ValueId y, Phase phase);

 private:
  std::vector<ValueId> emitted(OpKind op, std::vector<ValueId> operands, Attributes attributes,
                               Phase phase, ValueId about);

  Graph& graph_;
  Ring ring_;
  std::vector<Node>& done_;
  ValueId index_;
  std::map<std::pair<ValueId, int64_t>, ValueId> pieces_;
};

}  // namespace tessera
