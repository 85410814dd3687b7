// SPDX-License-Identifier: Apache-2.0
// The op of an optimizer, from its row: op(weights, gradient, slots..., learning_rate, step,
// norm_squares, shard) gives weights, slots..., copy, in place. Weights, gradient and slots have
// one dtype; in bf16 results are rounded stochastically.
#pragma once

#include "ir/op_def.h"
#include "ir/optimizer.h"

namespace tessera {

// Gradients are scaled so that their norm is at most clip_norm; where it is not finite nothing
// changes. Of flat weights only the first `decayed` elements decay (-1: all); `shard` says which
// part of the flat buffer these are.
OpDef optimizer_op(OpKind op, std::string_view summary);

// Where operands and results of such an op are, given the number of its slots.
struct OptimizerOperands {
  size_t slots;
  size_t slot(size_t i) const { return 2 + i; }
  size_t learning_rate() const { return 2 + slots; }
  size_t step() const { return 3 + slots; }
  size_t norm_squares() const { return 4 + slots; }
  size_t shard() const { return 5 + slots; }  // absent: there is one
  size_t slot_result(size_t i) const { return 1 + i; }
  size_t copy_result() const { return 1 + slots; }  // absent: none
};

}  // namespace tessera
