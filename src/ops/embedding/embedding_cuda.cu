// SPDX-License-Identifier: Apache-2.0
// One copy per index; zeros where another shard has the row.
#include "exec/cuda/elements.h"
#include "ops/embedding/table_index_cuda.h"

namespace tessera {
namespace {

constexpr int kPieces = 4;  // of kThreads accesses that a block has under way

template <int N, typename T>
__global__ void __launch_bounds__(kThreads)
    embedding_kernel(DeviceTableIndex index, const T* table, T* y, unsigned count, unsigned packs) {
  const unsigned first = blockIdx.x * kPieces * kThreads + threadIdx.x;
  Elements<T, N> copied[kPieces];
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const unsigned at = first + p * kThreads;
    if (at >= count) continue;
    const unsigned i = at / packs;
    const int64_t row = index.row(i);
    if (row >= 0) {
      copied[p] = load_elements<N>(table + (row * packs + at % packs) * N);
    } else {
      const T missing = index.outside(i) ? not_a_number<T>() : T{};
      for (int j = 0; j < N; ++j) copied[p].values[j] = missing;
    }
  }
#pragma unroll
  for (int p = 0; p < kPieces; ++p) {
    const unsigned at = first + p * kThreads;
    if (at < count) store_elements(y + static_cast<int64_t>(at) * N, copied[p]);
  }
}

template <int N, typename T>
void run_embedding(const CudaCall& call) {
  const TensorRef table = call.operand(0), index = call.operand(1);
  const int64_t rows = table.type->dims.front().size, cols = table.type->num_elements() / rows;
  const int64_t count = index.type->num_elements() * (cols / N);
  TESSERA_CHECK(count < (int64_t{1} << 32) - kPieces * kThreads, "{} accesses", count);
  launch(call, {.blocks = blocks_for(count, kPieces * kThreads), .threads = kThreads},
         embedding_kernel<N, T>, DeviceTableIndex(index, call.operand(2), rows),
         static_cast<const T*>(table.as<T>()), call.result(0).as<T>(), static_cast<unsigned>(count),
         static_cast<unsigned>(cols / N));
}

}  // namespace

void embedding_cuda(const CudaCall& call) {
  const TensorType& table = *call.operand(0).type;
  dispatch_float(table.dtype, [&]<typename T>() {
    if (table.num_elements() / table.dims.front().size % kElements<T> == 0)
      run_embedding<kElements<T>, T>(call);
    else
      run_embedding<1, T>(call);
  });
}

}  // namespace tessera
