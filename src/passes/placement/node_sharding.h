// SPDX-License-Identifier: Apache-2.0
// Which dims one node splits, by axis, and the resulting placements of its operands and results.
#pragma once

#include "ir/op_def.h"
#include "mesh/plan.h"

namespace tessera {

class NodeSharding {
 public:
  // Operands must have their placements. Throws a UserError if a size is not divisible.
  NodeSharding(const Plan& plan, const Graph& graph, const Node& node);

  Placement operand(size_t i) const;  // that the node requires
  Placement result(size_t i) const;   // that the node produces

  // The expandable dim that is split, or "".
  const std::string& expanded_dim() const { return expanded_dim_; }
  int64_t size_of(const std::string& dim) const;  // over all ranks
  AxisIds expanded_axes() const { return shard_axes(axes_, expanded_dim_); }

 private:
  AxisPlacement choose(int axis) const;
  AxisPlacement choose_for_pool(int axis);
  bool has_factor(const std::string& dim) const;
  bool is_pending(ValueId id, int axis) const;
  bool reads_own(size_t operand, int axis) const;
  bool all_pending(int axis) const;
  bool pool_is_pending(int axis) const;
  void require_division(const std::string& dim) const;

  const Plan& plan_;
  const Graph& graph_;
  const Node& node_;
  ShardingRule rule_;
  // Shard: what the node splits, of a free rule in the pool; Partial: a pending sum passes through.
  Placement axes_;
  std::vector<std::string> token_dims_;  // of a free rule, by axis: what it splits of tokens, or ""
  std::string expanded_dim_;
};

// The placement of a value that no node decides: the stream between blocks.
Placement free_placement(const Plan& plan, const TensorType& type);

}  // namespace tessera
