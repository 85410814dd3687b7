// SPDX-License-Identifier: Apache-2.0
// A block per row. A position outside the cache writes nothing: the host checks positions.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

template <typename T>
__global__ void write_cache_kernel(const T* rows, const int32_t* positions, T* cache, int64_t count,
                                   int64_t cached, int64_t elements) {
  const int64_t i = blockIdx.x, position = positions[i];
  if (position < 0 || position >= cached) return;
  T* to = cache + (i / count * cached + position) * elements;
  for (int64_t c = threadIdx.x; c < elements; c += blockDim.x) to[c] = rows[i * elements + c];
}

}  // namespace

void write_cache_cuda(const CudaCall& call) {
  const TensorRef cache = call.operand(0), rows = call.operand(1), out = call.result(0);
  const int64_t batch = cache.type->dims[0].size, cached = cache.type->dims[1].size;
  const int64_t count = rows.type->dims[1].size;
  if (out.data != cache.data)
    check_cuda(cudaMemcpyAsync(out.data, cache.data, static_cast<size_t>(cache.type->bytes()),
                               cudaMemcpyDeviceToDevice, call.stream),
               "copy a cache");
  dispatch_float(cache.type->dtype, [&]<typename T>() {
    launch(call, {.blocks = static_cast<unsigned>(batch * count), .threads = 128},
           write_cache_kernel<T>, static_cast<const T*>(rows.as<T>()),
           static_cast<const int32_t*>(call.operand(2).as<int32_t>()), out.as<T>(), count, cached,
           cache.type->num_elements() / (batch * cached));
  });
}

}  // namespace tessera
