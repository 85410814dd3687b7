// SPDX-License-Identifier: Apache-2.0
// Type rules and costs shared by many ops.
#pragma once

#include <string_view>

#include "ir/op_def.h"

namespace tessera {

std::string_view operand_name(const OpCall& call, size_t i);

void require_float(const OpCall& call, size_t i);

void require_type(const OpCall& call, size_t i, const TensorType& wanted);

void require_same_type(const OpCall& call, size_t i, size_t j);

// The dtype that a word attribute names; "same" is the dtype of operand `i`.
DType dtype_attribute(const OpCall& call, std::string_view attribute, size_t i);

// Operand i has the gradient of result 0, cast where parameters' gradients are kept in another
// dtype.
void pass_gradient(GradientBuilder& g, size_t i);

// Each operand and result once.
Cost cost_of(const OpCall& call, int64_t flops);

// The sharding rule of calls whose attributes refer to elements by their index in operand 0:
// nothing is split.
inline ShardingRule nothing_split(const OpCall& call) {
  ShardingRule rule;
  for (const Dim& dim : call.operand(0).dims) rule.whole.push_back(dim.name);
  return rule;
}

}  // namespace tessera
