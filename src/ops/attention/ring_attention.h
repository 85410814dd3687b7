// SPDX-License-Identifier: Apache-2.0
// Attention with the sequence split over a ring of ranks: keys and values are passed around,
// queries stay.
#pragma once

#include "ir/op_def.h"

namespace tessera {

ShardingRule attention_sharding(const OpCall& call);
std::vector<ValueId> ring_attention(ExpansionBuilder& b);
std::vector<ValueId> ring_attention_grad(ExpansionBuilder& b);

}  // namespace tessera
