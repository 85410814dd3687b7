// SPDX-License-Identifier: Apache-2.0
// For CUDA kernels alone: a cluster of blocks, which run at once and read each other's shared
// memory. Before compute capability 9.0 a block is a cluster of its own.
#pragma once

#include <cooperative_groups.h>

#include "exec/cuda/kernel_launch.h"

namespace tessera {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
struct BlockCluster {
  cooperative_groups::cluster_group group = cooperative_groups::this_cluster();

  __device__ int blocks() const { return static_cast<int>(group.num_blocks()); }
  __device__ int block() const { return static_cast<int>(group.block_rank()); }  // this one
  // By all threads of all blocks: what was written before is seen after it.
  __device__ void sync() const { group.sync(); }
  // What block `rank` has at this place of shared memory; only until that block ends.
  template <typename Value>
  __device__ Value read(Value& own, int rank) const {
    return *group.map_shared_rank(&own, static_cast<unsigned>(rank));
  }
};
#else
struct BlockCluster {
  __device__ int blocks() const { return 1; }
  __device__ int block() const { return 0; }
  __device__ void sync() const { __syncthreads(); }
  template <typename Value>
  __device__ Value read(Value& own, int) const {
    return own;
  }
};
#endif

// grid.blocks blocks, `cluster` of them at a time; at most eight.
template <typename... Parameters, typename... Arguments>
void launch_clusters(cudaStream_t stream, const Grid& grid, unsigned cluster,
                     void (*kernel)(Parameters...), Arguments... arguments) {
  if (cluster == 1) {
    kernel<<<grid.blocks, grid.threads, grid.shared_bytes, stream>>>(arguments...);
    return check_cuda(cudaGetLastError(), "launch a kernel");
  }
  cudaLaunchAttribute size{};
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = cluster;
  size.val.clusterDim.y = size.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  config.attrs = &size;
  config.numAttrs = 1;
  check_cuda(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...),
             "launch a kernel of clusters");
}

}  // namespace tessera
