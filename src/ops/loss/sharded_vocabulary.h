// SPDX-License-Identifier: Apache-2.0
// The output projection and cross-entropy with the vocabulary split over ranks: per row only the
// largest logit and two sums are sent, never logits.
#pragma once

#include "ir/op_def.h"

namespace tessera {

ShardingRule output_loss_sharding(const OpCall& call);
std::vector<ValueId> expand_output_loss(ExpansionBuilder& b);
std::vector<ValueId> expand_output_loss_grad(ExpansionBuilder& b);

}  // namespace tessera
