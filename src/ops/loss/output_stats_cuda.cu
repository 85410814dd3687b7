// SPDX-License-Identifier: Apache-2.0
// A block per row. Rows whose label is ignored need no exponentials: nothing reads their stats.
#include "ops/loss/sharded_loss_cuda.h"

namespace tessera {
namespace {

// A label outside the vocabulary has no logit: its loss is NaN.
template <typename T>
__global__ void __launch_bounds__(1024)
    row_stats_kernel(const T* logits, int64_t stride, const int32_t* labels, int64_t table_rows,
                     int64_t vocabulary, const int32_t* shard, Accumulator<T>* max,
                     Accumulator<T>* sum, Accumulator<T>* chosen, int64_t num_kept) {
  using S = Accumulator<T>;
  extern __shared__ uint4 kept[];
  const GpuLocalClasses classes(vocabulary, *shard, table_rows);
  const T* x = logits + blockIdx.x * stride;
  const int32_t label = labels[blockIdx.x];
  RowSoftmax<S> softmax{0, 0};
  if (label >= 0)
    softmax =
        softmax_of_row(LogitRow<T>(x, classes.count, reinterpret_cast<Pack<T>*>(kept), num_kept));
  if (threadIdx.x != 0) return;
  const int64_t column = classes.column(label);
  max[blockIdx.x] = softmax.shift * static_cast<S>(RowSoftmax<S>::kLn2);
  sum[blockIdx.x] = softmax.sum;
  chosen[blockIdx.x] = column >= 0           ? widen(x[column])
                       : label >= vocabulary ? static_cast<S>(NAN)
                                             : S{0};
}

}  // namespace

void output_stats_cuda(const CudaCall& call) {
  const LogitChunks s(*call.operand(0).type, *call.operand(1).type);
  const int32_t *labels = call.operand(2).as<int32_t>(), *shard = call.operand(3).as<int32_t>();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, T* logits) {
      launch_on_rows<T>(call, s, rows, row_stats_kernel<T>, static_cast<const T*>(logits), s.stride,
                        labels + first, s.vocab, call.attributes.integer("vocabulary"), shard,
                        call.result(0).as<S>() + first, call.result(1).as<S>() + first,
                        call.result(2).as<S>() + first);
    });
  });
}

int64_t output_stats_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return LogitChunks(call.operand(0), call.operand(1)).workspace_bytes;
}

}  // namespace tessera
