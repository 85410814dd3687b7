// SPDX-License-Identifier: Apache-2.0
// Stands in for NCCL where its header was not found: says so when it is asked for.
#include "comm/nccl/nccl_world.h"
#include "core/error.h"

namespace tessera {

std::unique_ptr<NcclWorld> make_nccl_world(RankWorld& /*bootstrap*/, cudaStream_t /*compute*/,
                                           NcclOptions /*options*/) {
  throw user_error("this tessera was built without NCCL, which ranks on GPUs of their own need")
      .help("install nccl.h beside CUDA's headers and build again, or start it without mpirun");
}

}  // namespace tessera
