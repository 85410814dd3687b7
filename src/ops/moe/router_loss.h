// SPDX-License-Identifier: Apache-2.0
// What the losses of a router share: terms of tokens, computed from their logits alone, times a
// coefficient over label_count; so they are linear in tokens, and neither the mesh nor the number
// of microbatches changes them.
#pragma once

#include "ops/row_ranges.h"
#include "ops/type_rules.h"

namespace tessera {

// Checks logits, operand 0, and label_count, operand i.
inline void require_router_loss(const OpCall& call, size_t i) {
  const TensorType& logits = call.operand(0);
  require_float(call, 0);
  call.require(logits.dtype == accumulator_of(logits.dtype) && logits.dims.size() >= 2,
               "logits must be fp32 or fp64 with dims of tokens and experts, are {}",
               to_string(logits));
  require_type(call, i, scalar(DType::Fp64));
}

// Partial sums of chunks of tokens, then one row of scores for each worker.
struct RouterLossWorkspace {
  int64_t partial_bytes, scratch_bytes;

  explicit RouterLossWorkspace(const TensorType& logits)
      : partial_bytes(
            (RowChunks(logits.num_elements() / logits.dims.back().size).count() * 8 + 63) / 64 *
            64),
        scratch_bytes((logits.dims.back().size * size_bytes(logits.dtype) + 63) / 64 * 64) {}
};

inline int64_t router_loss_workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  const RouterLossWorkspace workspace(call.operand(0));
  return workspace.partial_bytes + workspace.scratch_bytes * profile.threads;
}

// A token's term needs the scores of all experts.
inline ShardingRule router_loss_sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims.back().name}};
}

// The gradient of a loss whose gradient op takes the same operands and also gives the loss.
inline void router_loss_gradient(GradientBuilder& g, OpKind op) {
  std::vector<ValueId> operands;
  for (size_t i = 0; g.operand(i) != kNone; ++i) operands.push_back(g.operand(i));
  const auto results = g.emit(0, op, std::move(operands), g.attributes());
  g.set_result(0, results[0]);
  g.set(0, results[1]);
}

}  // namespace tessera
