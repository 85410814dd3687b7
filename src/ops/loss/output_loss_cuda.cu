// SPDX-License-Identifier: Apache-2.0
// The loss alone, chunk of rows by chunk of rows: what `evaluate` runs.
#include "ops/loss/logits_cuda.h"

namespace tessera {
namespace {

// A label outside the vocabulary has no logit: its loss is NaN.
template <typename S>
__global__ void row_losses_kernel(const S* logits, const int32_t* labels, int64_t vocab,
                                  double* losses) {
  const S* x = logits + blockIdx.x * vocab;
  const int32_t label = labels[blockIdx.x];
  double loss = 0;
  if (label >= 0) {
    const RowSoftmax<S> softmax = softmax_of_row(x, vocab);
    loss = label < vocab ? cross_entropy(softmax, x[label]) : static_cast<double>(NAN);
  }
  if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}

}  // namespace

void output_loss_cuda(const CudaCall& call) {
  const OutputLossSizes s(*call.operand(0).type, *call.operand(1).type);
  const int32_t* labels = call.operand(2).as<int32_t>();
  double* losses = reinterpret_cast<double*>(call.workspace.data() + s.losses);
  dispatch_float(call.operand(0).type->dtype, [&]<typename T>() {
    using S = Accumulator<T>;
    for_each_chunk_of_logits<T>(call, s, [&](int64_t first, int64_t rows, S* logits) {
      launch(call, {.blocks = static_cast<unsigned>(rows), .threads = kLogitThreads},
             row_losses_kernel<S>, static_cast<const S*>(logits), labels + first, s.vocab,
             losses + first);
    });
  });
  store_mean_loss(call, losses, s.rows, call.operand(3).as<double>());
}

}  // namespace tessera
