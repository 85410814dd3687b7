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
    const LogitRow<T> row(x, vocab, reinterpret_cast<Pack<T>*>(kept), num_kept);
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

// Turns a row of logits into (softmax - one_hot(label)) / label_count; gives the row's loss.
template <typename T>
__global__ void __launch_bounds__(1024)
    row_gradients_kernel(T* logits, const int32_t* labels, int64_t vocab, int64_t stride,
                         const double* label_count, double* losses, int64_t num_kept) {
  using S = Accumulator<T>;
  extern __shared__ uint4 kept[];
  T* x = logits + blockIdx.x * stride;
  const LogitRow<T> row(x, vocab, reinterpret_cast<Pack<T>*>(kept), num_kept);
  auto* gradient = reinterpret_cast<Pack<T>*>(x);
  const int32_t label = labels[blockIdx.x];
  if (label < 0) {
    for (int64_t i = threadIdx.x; i < row.packs(); i += blockDim.x) gradient[i] = {};
    if (threadIdx.x == 0) losses[blockIdx.x] = 0;
    return;
  }
  const RowSoftmax<S> softmax = softmax_of_row(row);
  if (threadIdx.x == 0) losses[blockIdx.x] = cross_entropy(softmax, x, vocab, label);
  __syncthreads();  // the label's logit has been read
  const S scale = static_cast<S>(1 / *label_count), factor = scale / softmax.sum;
#pragma unroll 2
  for (int64_t i = threadIdx.x; i < row.packs(); i += blockDim.x) {
    const Pack<T> pack = row.again(i);
    S values[Pack<T>::kSize];
    for (int j = 0; j < Pack<T>::kSize; ++j)
      values[j] = softmax.exponential(widen(pack.values[j])) * factor;
    if (i == label / Pack<T>::kSize)
      for (int j = 0; j < Pack<T>::kSize; ++j)
        values[j] -= j == label % Pack<T>::kSize ? scale : S{0};
    gradient[i] = narrow_all<T>(values);
  }
}

}  // namespace

void output_loss_grad_cuda(const CudaCall& call) {
  const LogitChunks s(*call.operand(0).type, *call.operand(1).type);
  const int32_t* labels = call.operand(2).as<int32_t>();
  const double* label_count = call.operand(3).as<double>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, T* logits) {
      launch_on_rows<T>(call, s, rows, row_gradients_kernel<T>, logits, labels + first, s.vocab,
                        s.stride, label_count, losses + first);
      logit_gradients_to_results<T>(call, s, first, rows, static_cast<const T*>(logits));
    });
  });
  store_mean_loss(call, losses, s.rows, label_count);
}

int64_t output_loss_grad_cuda_workspace_bytes(const OpCall& call, CausalAttention&) {
  return LogitChunks(call.operand(0), call.operand(1)).workspace_bytes;
}

}  // namespace tessera
