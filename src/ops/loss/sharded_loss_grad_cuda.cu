// SPDX-License-Identifier: Apache-2.0
// The logits of a chunk are recomputed and overwritten with their gradient, using the softmax
// statistics of all shards.
#include "ops/loss/sharded_loss_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void shard_gradients_kernel(T* logits, int64_t stride, const int32_t* labels,
                                       int64_t table_rows, int64_t vocabulary, const int32_t* shard,
                                       const double* label_count, const Accumulator<T>* all_max,
                                       const Accumulator<T>* sums) {
  using S = Accumulator<T>;
  const GpuLocalClasses classes(vocabulary, *shard, table_rows);
  T* x = logits + blockIdx.x * stride;
  const int32_t label = labels[blockIdx.x];
  const int64_t column = classes.column(label);
  const S scale = static_cast<S>(1 / *label_count);
  for (int64_t i = threadIdx.x; i < table_rows; i += blockDim.x) {
    S value = 0;
    if (i < classes.count && label >= 0) {
      value = exp(widen(x[i]) - all_max[blockIdx.x]) * (scale / sums[blockIdx.x]);
      if (i == column) value -= scale;
    }
    x[i] = narrow<T>(value);
  }
}

template <typename T>
void run(const CudaCall& call, const LogitChunks& s) {
  using S = Accumulator<T>;
  const int32_t *labels = call.operand(2).as<int32_t>(), *shard = call.operand(4).as<int32_t>();
  const double* label_count = call.operand(3).as<double>();
  const S *all_max = call.operand(5).as<S>(), *stats = call.operand(6).as<S>();
  for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, T* logits) {
    launch(call, {.blocks = static_cast<unsigned>(rows), .threads = 512}, shard_gradients_kernel<T>,
           logits, s.stride, labels + first, s.vocab, call.attributes.integer("vocabulary"), shard,
           label_count, all_max + first, stats + first);
    logit_gradients_to_results<T>(call, s, first, rows, static_cast<const T*>(logits));
  });
  store_sharded_mean_loss<S>(call, all_max, stats, labels, s.rows, label_count);
}

}  // namespace

void sharded_loss_grad_cuda(const CudaCall& call) {
  const LogitChunks s(*call.operand(0).type, *call.operand(1).type);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() { run<T>(call, s); });
}

int64_t sharded_loss_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return LogitChunks(call.operand(0), call.operand(1)).workspace_bytes;
}

}  // namespace tessera
