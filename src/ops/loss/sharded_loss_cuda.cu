// SPDX-License-Identifier: Apache-2.0
// One logarithm per row: one block does it.
#include "exec/cuda/kernel_launch.h"
#include "ops/loss/logits_cuda.h"
#include "ops/loss/sharded_loss.h"

namespace tessera {
namespace {

// The classes of one shard: `first` to `first + count`; the other rows of its table are padding.
struct GpuLocalClasses {
  int64_t vocabulary, first, count;

  __device__ GpuLocalClasses(int64_t all, int32_t shard, int64_t rows)
      : vocabulary(all), first(shard * rows) {
    const int64_t left = vocabulary - first;
    count = left < 0 ? 0 : left < rows ? left : rows;
  }
  // The label's column here, or -1 where another shard has it.
  __device__ int64_t column(int32_t label) const {
    return label >= first && label < first + count ? label - first : -1;
  }
};

// By one block: the losses of rows whose label is not negative.
template <typename S>
__global__ void sharded_mean_loss_kernel(const S* all_max, const S* stats, const int32_t* labels,
                                         int64_t rows, const double* label_count, double* loss,
                                         bool accumulate) {
  double sum = 0;
  for (int64_t row = threadIdx.x; row < rows; row += blockDim.x)
    if (labels[row] >= 0)
      sum += log(static_cast<double>(stats[row])) + static_cast<double>(all_max[row]) -
             static_cast<double>(stats[rows + row]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) *loss = (accumulate ? *loss : 0.0) + (sum == 0 ? 0.0 : sum / *label_count);
}

// Result 0.
template <typename S>
void store_sharded_mean_loss(const CudaCall& call, const S* all_max, const S* stats,
                             const int32_t* labels, int64_t rows, const double* label_count) {
  launch(call, {.blocks = 1, .threads = 1024}, sharded_mean_loss_kernel<S>, all_max, stats, labels,
         rows, label_count, call.result(0).as<double>(), call.accumulates(0));
}

}  // namespace

void sharded_loss_cuda(const CudaCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    store_sharded_mean_loss<S>(call, call.operand(0).as<S>(), call.operand(1).as<S>(),
                               call.operand(2).as<int32_t>(), rows, call.operand(3).as<double>());
  });
}

// The logits of a chunk are recomputed and overwritten with their gradient, using the softmax
// statistics of all shards.
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

// A block per row. Rows whose label is ignored need no exponentials: nothing reads their stats.
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
  if (label >= 0) softmax = softmax_of_row(LogitRow<T>(x, classes.count, kept, num_kept));
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

// max may be -inf (a shard of padding), all_max is finite: some shard has a class.
namespace {

template <typename S>
__global__ void shared_stats_kernel(const S* max, const S* sum, const S* chosen, const S* all_max,
                                    int64_t rows, S* stats) {
  for (int64_t row = first_index(); row < rows; row += index_stride()) {
    stats[row] = sum[row] * exp(max[row] - all_max[row]);
    stats[rows + row] = chosen[row];
  }
}

}  // namespace

void shared_stats_cuda(const CudaCall& call) {
  const int64_t rows = call.operand(0).type->num_elements();
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    const auto stat = [&](size_t i) { return static_cast<const S*>(call.operand(i).as<S>()); };
    launch(call, grid_for(rows), shared_stats_kernel<S>, stat(0), stat(1), stat(2), stat(3), rows,
           call.result(0).as<S>());
  });
}

}  // namespace tessera
