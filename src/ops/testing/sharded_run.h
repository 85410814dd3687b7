// SPDX-License-Identifier: Apache-2.0
// Runs a call as the ranks of a mesh would: placed and localized by the compiler's own passes, one
// thread per rank if ranks communicate, and assembles the results.
#pragma once

#include "ops/testing/conformance_case.h"
#include "ops/testing/sharded_case.h"

namespace tessera {

// Each result, from every group of ranks that together hold all of it: pieces joined, pending sums
// added.
struct JoinedResult {
  std::vector<HostTensor> copies;
};
std::vector<JoinedResult> run_sharded(const SampleCall& call, const ShardedCase& sharded);

}  // namespace tessera
