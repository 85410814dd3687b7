// SPDX-License-Identifier: Apache-2.0
// The sharding rule of calls whose attributes refer to elements by their index in operand 0:
// nothing is split.
#pragma once

#include "ir/op_def.h"

namespace tessera {

inline ShardingRule nothing_split(const OpCall& call) {
  ShardingRule rule;
  for (const Dim& dim : call.operand(0).dims) rule.whole.push_back(dim.name);
  return rule;
}

}  // namespace tessera
