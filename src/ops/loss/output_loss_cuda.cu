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

}  // namespace tessera
