// SPDX-License-Identifier: Apache-2.0
// The placements that an op's sharding rule permits on small meshes: every dim on one axis, on two
// axes in both orders, every pair of dims, and dims whose operands arrive with another split.
#pragma once

#include <string>
#include <vector>

#include "mesh/plan.h"
#include "ops/testing/conformance_case.h"
#include "ops/testing/sample_call.h"

namespace tessera {

struct ShardedCase {
  Plan plan;
  AxisIds pending = {};  // every operand is a pending sum along these axes
  bool arrives_elsewhere =
      false;  // operands are placed by the axis's list, the op splits its own dims
};

std::vector<ShardedCase> permitted_placements(const SampleCall& call);
std::string to_string(const ShardedCase& sharded, OpKind op);

// The sample with sizes increased where the plan's axes do not divide them.
OpSample grown(const OpSample& sample, const Plan& plan);

// Runs a call as the ranks of a mesh would: placed and localized by the compiler's own passes, one
// thread per rank if ranks communicate, and assembles the results.
// Each result, from every group of ranks that together hold all of it: pieces joined, pending sums
// added.
struct JoinedResult {
  std::vector<HostTensor> copies;
};
std::vector<JoinedResult> run_sharded(const SampleCall& call, const ShardedCase& sharded);

}  // namespace tessera
