// SPDX-License-Identifier: Apache-2.0
// Sample calls of an op: the data on which the conformance suite checks everything that the op
// claims.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/tensor_type.h"
#include "ir/attributes.h"

namespace tessera {

struct SampleOperand {
  TensorType type;  // float operands in fp64: the suite derives the fp32 and bf16 calls itself
  bool differentiable = true;  // checked against finite differences (floats only)
  bool parameter = false;      // its gradient is a weight gradient
  bool accumulator = false;    // fp32 where the call is bf16: statistics, gradients, master weights
  bool own_dtype = false;      // of `type`, whatever that of the call
  // Element i as a function of (i, u) with u uniform in [0, 1), deterministic. Empty: normal(0, 1).
  std::function<double(int64_t, double)> fill = {};
};

struct OpSample {
  std::string name;  // a claim about the case, in snake_case: "two_contracted_dims"
  std::vector<SampleOperand> operands;
  Attributes attributes = {};
  int64_t flops =
      -1;  // hand-counted, compared with the op's cost; -1 only for ops without arithmetic
  double tolerance_fp32 = 1e-5;  // of max|a-b| / max|b| against fp64
  double tolerance_bf16 = 2e-2;
};

}  // namespace tessera
