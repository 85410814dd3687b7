// SPDX-License-Identifier: Apache-2.0
// Ranks with a GPU each, over NCCL; a world of the same ranks on the host carries NCCL's ids. What
// is started goes to a stream of the group's, after what the compute stream has; waiting makes the
// compute stream wait. Nothing here waits for the GPU but `await`, which keeps the deadline.
// Built from nccl_world.cpp where NCCL's header is, from no_nccl.cpp where not.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "comm/communicator.h"

namespace tessera {

struct NcclOptions {
  double deadline_seconds = 120;  // without any progress
};

class NcclWorld : public RankWorld {
 public:
  // Until the stream has done all it was given: what CUDA says of it. When a peer is lost, or
  // nothing moves until the deadline, all groups are aborted; a PeerError names what hangs.
  virtual cudaError_t await(cudaStream_t stream) const = 0;
};

// `bootstrap` and `compute` outlive it. Groups need NCCL on the machine, the world does not.
std::unique_ptr<NcclWorld> make_nccl_world(RankWorld& bootstrap, cudaStream_t compute,
                                           NcclOptions options = {});

}  // namespace tessera
