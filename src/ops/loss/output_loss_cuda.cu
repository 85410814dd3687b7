// SPDX-License-Identifier: Apache-2.0
// Only the loss, by chunks of rows, for `evaluate`.
#include "ops/loss/logits_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void __launch_bounds__(1024)
    row_losses_kernel(const T* logits, const int32_t* labels, int64_t vocab, int64_t stride,
                      double* losses, int64_t num_kept) {
  extern __shared__ uint4 kept[];
  const T* x = logits + blockIdx.x * stride;
  const int32_t label = labels[blockIdx.x];
  double loss = 0;
  if (label >= 0) {
    const LogitRow<T> row(x, vocab, kept, num_kept);
    loss = cross_entropy(softmax_of_row(row), x, vocab, label);
  }
  if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}

}  // namespace

void output_loss_cuda(const CudaCall& call) {
  const LogitChunks s(*call.operand(0).type, *call.operand(1).type);
  const int32_t* labels = call.operand(2).as<int32_t>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, T* logits) {
      launch_on_rows<T>(call, s, rows, row_losses_kernel<T>, static_cast<const T*>(logits),
                        labels + first, s.vocab, s.stride, losses + first);
    });
  });
  store_mean_loss(call, losses, s.rows, call.operand(3).as<double>());
}

int64_t output_loss_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return LogitChunks(call.operand(0), call.operand(1)).workspace_bytes;
}

// The logits of a chunk, in the dtype of x, are written once by the matmul, then read once and
// overwritten with their gradient by one kernel. From the gradient, dx and a share of dtable are
// computed.
namespace {

// Turns a row of logits into (softmax - one_hot(label)) / label_count; gives the row's loss. A
// cluster has a row, each of its blocks `part_packs` of it.
template <typename T, bool kAllFit, int kThreadsOf>
__global__ void __launch_bounds__(kThreadsOf, kThreadsOf == 1024 ? 2 : 3)
    row_gradients_kernel(T* logits, const int32_t* labels, int64_t vocab, int64_t stride,
                         const double* label_count, double* losses, int64_t part_packs,
                         int64_t num_kept) {
  using S = Accumulator<T>;
  constexpr int kSize = kElements<T>;
  extern __shared__ uint4 kept[];
  const BlockCluster cluster;
  const int64_t at = blockIdx.x / cluster.blocks(), from = cluster.block() * part_packs * kSize;
  T *x = logits + at * stride, *part = x + from;
  const int64_t part_size = min(part_packs * kSize, max(int64_t{0}, vocab - from));
  const LogitRow<T, kAllFit> row(part, part_size, kept, num_kept);
  auto* gradient = reinterpret_cast<Pack<T>*>(part);
  const bool first = cluster.block() == 0 && threadIdx.x == 0;
  const int32_t label = labels[at];
  if (label < 0) {
    for (int i = static_cast<int>(threadIdx.x); i < row.packs(); i += kThreadsOf) gradient[i] = {};
    if (first) losses[at] = 0;
    return;
  }
  RowSoftmax<S> softmax = softmax_of_row(row);
  if (cluster.blocks() > 1) softmax = softmax_of_parts(cluster, softmax);
  if (first) losses[at] = cross_entropy(softmax, x, vocab, label);
  cluster.sync();  // the label's logit has been read, and what blocks tell each other
  const S scale = static_cast<S>(1 / *label_count), factor = scale / softmax.sum;
  const auto label_column = static_cast<int>(label - from);
#pragma unroll 2
  for (int i = static_cast<int>(threadIdx.x); i < row.packs(); i += kThreadsOf) {
    S values[kSize];
    widen_all<T>(row.again(i), values);
#pragma unroll
    for (int j = 0; j < kSize; ++j) values[j] = softmax.exponential(values[j]) * factor;
    if (const int there = label_column - i * kSize; there >= 0 && there < kSize)
#pragma unroll
      for (int j = 0; j < kSize; ++j) values[j] -= j == there ? scale : S{0};
    gradient[i] = narrow_all<T>(values);
  }
}

// Chooses the kernel: kernel(threads, row_gradients_kernel<...>).
template <typename T, typename Launch>
void with_row_gradients(const LogitBlocks& blocks, Launch&& kernel) {
  if (blocks.kept_packs < blocks.part_packs)
    kernel(512, row_gradients_kernel<T, false, 512>);
  else if (blocks.per_row > 1)
    kernel(512, row_gradients_kernel<T, true, 512>);
  else
    kernel(1024, row_gradients_kernel<T, true, 1024>);
}

}  // namespace

void output_loss_grad_cuda(const CudaCall& call) {
  const LogitChunks s(*call.operand(0).type, *call.operand(1).type);
  const int32_t* labels = call.operand(2).as<int32_t>();
  const double* label_count = call.operand(3).as<double>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    const LogitBlocks blocks = logit_blocks<T>(s, true);
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, T* logits) {
      with_row_gradients<T>(blocks, [&](int threads, auto kernel) {
        launch_row_blocks(call, blocks, rows, threads, kernel, logits, labels + first, s.vocab,
                          s.stride, label_count, losses + first, blocks.part_packs,
                          blocks.kept_packs);
      });
      logit_gradients_to_results<T>(call, s, first, rows, static_cast<const T*>(logits));
    });
  });
  store_mean_loss(call, losses, s.rows, label_count);
}

int64_t output_loss_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return LogitChunks(call.operand(0), call.operand(1)).workspace_bytes;
}

}  // namespace tessera
