// SPDX-License-Identifier: Apache-2.0
// Which parameters of a class share a flat buffer: those with the same placement over the mesh, the
// same pending sums of gradients, and the same optimizer and parameter group.
#pragma once

#include "ir/module.h"
#include "mesh/plan.h"

namespace tessera {

struct BundlePlan {
  Bundle bundle;
  DType dtype = DType::Fp32;  // of the weights
  DType kept = DType::Fp32;   // of gradient and slots
  int64_t decayed = 0;        // leading elements that weight decay applies to
  AxisIds pending;            // axes over which the gradient is still to be summed
  AxisIds split;              // axes that split the parameters in use
  AxisIds cut;                // of these, where the optimizer takes matrices: those that cut them
  std::string optimizer;      // as in StateSpec
  int64_t group = 0;          // likewise
  std::string joined;         // the stages that hold copies, as in StateSpec
  bool replica = false;

  std::string gaps() const;    // "3-32+40-64": the padding, in elements; "none"
  std::vector<int64_t> sizes;  // by parameter, in elements
};

// Of the parameters that the class owns and trains.
std::vector<BundlePlan> bundle_parameters(const BlockClass& block_class, const Plan& plan);
// Of all that the class owns, where nothing is trained.
std::vector<BundlePlan> bundle_weights(const BlockClass& block_class, const Plan& plan);
// Of those that it owns and that are frozen, beside others that are trained; "frozen0" and so on.
std::vector<BundlePlan> bundle_frozen(const BlockClass& block_class, const Plan& plan);

}  // namespace tessera
