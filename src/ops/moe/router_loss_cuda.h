// SPDX-License-Identifier: Apache-2.0
// The loop over tokens of a router's losses on a GPU: a warp for each token. Terms are summed in
// double, by block, then by one block, in an order that depends on sizes alone.
#pragma once

#include "ops/fixed_order_sums_cuda.h"
#include "ops/moe/router_loss.h"
#include "ops/moe/routing_cuda.h"

namespace tessera {

inline constexpr unsigned kMostLossBlocks = 1024;

struct LossFactor {
  const double* label_count;
  double coefficient;

  __device__ double operator()() const { return *label_count > 0 ? coefficient / *label_count : 0; }
};

// term(token, factor, scratch): the token's term, the same in every lane. Its gradient is
// multiplied by `factor`.
template <typename S, typename Term>
__global__ void __launch_bounds__(kThreads)
    router_loss_kernel(Term term, int64_t tokens, int experts, LossFactor factor,
                       double* partials) {
  extern __shared__ __align__(16) std::byte shared[];
  const RoutingScratch<S> scratch(shared, experts);
  double sum = 0;
  for (int64_t t = token_of_warp(); t < tokens;
       t += static_cast<int64_t>(gridDim.x) * (blockDim.x / 32)) {
    sum += static_cast<double>(term(t, static_cast<S>(factor()), scratch.keys));
    __syncwarp();
  }
  const double total = block_sum(lane_of_warp() == 0 ? sum : 0);
  if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

inline __global__ void finish_router_loss_kernel(const double* partials, int64_t count,
                                                 LossFactor factor, double* loss, bool accumulate) {
  const double sum = sum_of_doubles(partials, count);
  if (threadIdx.x == 0) *loss = (accumulate ? *loss : 0) + factor() * sum;
}

template <typename S, typename Term>
void run_router_loss(const CudaCall& call, const TensorRef& label_count, const Term& term) {
  const TensorType& logits = *call.operand(0).type;
  const int64_t experts = logits.dims.back().size, tokens = logits.num_elements() / experts;
  const LossFactor factor{label_count.as<double>(), call.attributes.real("coefficient")};
  auto* partials = reinterpret_cast<double*>(call.workspace.data());
  Grid grid = token_grid<S>(experts, tokens);
  grid.blocks.x = std::min(grid.blocks.x, kMostLossBlocks);
  launch(call, grid, router_loss_kernel<S, Term>, term, tokens, static_cast<int>(experts), factor,
         partials);
  launch(call, {.blocks = 1, .threads = kThreads}, finish_router_loss_kernel,
         static_cast<const double*>(partials), int64_t{grid.blocks.x}, factor,
         call.result(0).as<double>(), call.accumulates(0));
}

inline int64_t router_loss_cuda_bytes() { return kMostLossBlocks * sizeof(double); }

}  // namespace tessera
