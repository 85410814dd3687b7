// SPDX-License-Identifier: Apache-2.0
// A call run as the ranks of a mesh run it: placed and localized by the compiler's own passes, one
// thread per rank where ranks talk, and put together again.
#pragma once

#include "ops/testing/conformance_case.h"
#include "ops/testing/sharded_case.h"

namespace tessera {

// Each result as every group of ranks that holds all of it has it: pieces joined, pending sums
// taken.
struct JoinedResult {
  std::vector<HostTensor> copies;
};
std::vector<JoinedResult> run_sharded(const SampleCall& call, const ShardedCase& sharded);

}  // namespace tessera
