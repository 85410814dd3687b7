// SPDX-License-Identifier: Apache-2.0
// The logits of a chunk become their own gradient, which then gives dx and its share of dtable. A
// product takes operands of one dtype, so bf16 gradients lie over the first half of their fp32 row.
#include "ops/loss/logits_cuda.h"

namespace tessera {
namespace {

// Turns a row of logits into (softmax - one_hot(label)) / label_count; gives the row's loss.
template <typename T>
__global__ void row_gradients_kernel(Accumulator<T>* logits, const int32_t* labels, int64_t vocab,
                                     const double* label_count, double* losses) {
  using S = Accumulator<T>;
  S* x = logits + blockIdx.x * vocab;
  T* gradient = reinterpret_cast<T*>(x);
  const int32_t label = labels[blockIdx.x];
  const S scale = static_cast<S>(1 / *label_count);
  RowSoftmax<S> softmax{0, 1};
  double loss = 0;
  if (label >= 0) {
    softmax = softmax_of_row(x, vocab);
    loss = label < vocab ? cross_entropy(softmax, x[label]) : static_cast<double>(NAN);
  }
  // An element is written at or before where it was read; all are read before any is written over.
  for (int64_t begin = 0; begin < vocab; begin += blockDim.x) {
    const int64_t i = begin + threadIdx.x;
    S value = 0;
    if (i < vocab && label >= 0) {
      value = exp(x[i] - softmax.max) * (scale / softmax.sum);
      if (i == label) value -= scale;
    }
    __syncthreads();
    if (i < vocab) gradient[i] = narrow<T>(value);
    __syncthreads();
  }
  if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}

}  // namespace

void output_loss_grad_cuda(const CudaCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const int32_t* labels = call.operand(2).as<int32_t>();
  const double* label_count = call.operand(3).as<double>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
      launch(call, {.blocks = static_cast<unsigned>(rows), .threads = kLogitThreads},
             row_gradients_kernel<T>, logits, labels + first, s.vocab, label_count, losses + first);
      logit_gradients_to_results<T>(call, s, first, rows, reinterpret_cast<const T*>(logits),
                                    s.vocab * static_cast<int64_t>(sizeof(S) / sizeof(T)));
    });
  });
  store_mean_loss(call, losses, s.rows, label_count);
}

}  // namespace tessera
