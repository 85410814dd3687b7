// SPDX-License-Identifier: Apache-2.0
// Every index is linked to the next one that is alike; a block follows the links from the first one
// and adds the rows of dy in order. Comparing all pairs is cheap beside the step and needs no sort.
#include "ops/embedding/table_index_cuda.h"

namespace tessera {
namespace {

// next[i]: the nearest later j with the same index, or -1; first[i]: no earlier one is alike.
__global__ void link_kernel(const int32_t* index, int64_t count, int32_t* next, int32_t* first) {
  __shared__ int32_t tile[kThreads];
  const int64_t i = first_index();
  const int32_t own = i < count ? index[i] : -1;
  int64_t found = -1;
  bool earlier = false;
  for (int64_t begin = 0; begin < count; begin += kThreads) {
    __syncthreads();
    const int64_t loaded = begin + threadIdx.x;
    tile[threadIdx.x] = loaded < count ? index[loaded] : -1;
    __syncthreads();
    const int64_t size = min(static_cast<int64_t>(kThreads), count - begin);
    for (int64_t j = 0; j < size; ++j) {
      if (tile[j] != own) continue;
      if (begin + j < i) earlier = true;
      if (begin + j > i && found < 0) found = begin + j;
    }
  }
  if (i >= count) return;
  next[i] = static_cast<int32_t>(found);
  first[i] = earlier ? 0 : 1;
}

template <typename T, typename Y>
__global__ void add_rows_kernel(DeviceTableIndex index, const int32_t* next, const int32_t* first,
                                const T* dy, Y* table, int64_t cols) {
  using A = Accumulator<Y>;
  const int64_t start = blockIdx.x, row = index.row(start);
  if (!first[start] || row < 0) return;
  for (int64_t c = threadIdx.x; c < cols; c += blockDim.x) {
    A sum = widen(table[row * cols + c]);
    for (int64_t i = start; i >= 0; i = next[i]) sum += static_cast<A>(widen(dy[i * cols + c]));
    table[row * cols + c] = narrow<Y>(sum);
  }
}

}  // namespace

void embedding_grad_cuda(const CudaCall& call) {
  const TensorRef index = call.operand(0), dy = call.operand(1), table = call.result(0);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t count = index.type->num_elements();
  int32_t* next = reinterpret_cast<int32_t*>(call.workspace.data());
  int32_t* first = next + count;
  launch(call, {.blocks = blocks_for(count, kThreads), .threads = kThreads}, link_kernel,
         static_cast<const int32_t*>(index.as<int32_t>()), count, next, first);
  if (!call.accumulates(0))
    check_cuda(
        cudaMemsetAsync(table.data, 0, static_cast<size_t>(table.type->bytes()), call.stream),
        "clear a table");
  dispatch_float(dy.type->dtype, [&]<typename T>() {
    dispatch_float(table.type->dtype, [&]<typename Y>() {
      launch(call, {.blocks = static_cast<unsigned>(count), .threads = 128}, add_rows_kernel<T, Y>,
             DeviceTableIndex(index, call.operand(2), rows), static_cast<const int32_t*>(next),
             static_cast<const int32_t*>(first), static_cast<const T*>(dy.as<T>()), table.as<Y>(),
             cols);
    });
  });
}

}  // namespace tessera
