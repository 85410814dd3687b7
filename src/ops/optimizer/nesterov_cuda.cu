// SPDX-License-Identifier: Apache-2.0
// One pass, bound by memory.
#include "exec/cuda/kernel_launch.h"
#include "ops/optimizer/stochastic_rounding.h"

namespace tessera {
namespace {

// S: how gradient and momentum are kept.
template <typename S, typename D>
struct NesterovTensors {
  const S *gradient, *momentum;
  const double *step, *norm_squares;
  const int32_t* shard;  // null: the only one
  S* new_momentum;
  D* direction;
  double beta, clip_norm;
  uint64_t seed;
};

template <typename S, typename D>
__global__ void __launch_bounds__(kThreads)
    nesterov_kernel(NesterovTensors<S, D> t, int64_t count) {
  using A = Accumulator<S>;
  const double norm = sqrt(*t.norm_squares);
  const A scale = static_cast<A>(t.clip_norm > 0 ? min(1.0, t.clip_norm / (norm + 1e-6)) : 1.0);
  const A beta = static_cast<A>(t.beta);
  const int64_t before = t.shard ? *t.shard * count : int64_t{0};
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    if (!isfinite(norm)) {
      t.new_momentum[i] = t.momentum[i];
      t.direction[i] = narrow<D>(Accumulator<D>{0});
      continue;
    }
    const A g = widen(t.gradient[i]) * scale, m = fma(beta, widen(t.momentum[i]), g);
    if constexpr (std::is_same_v<S, Bf16>) {
      const uint32_t word =
          rounding_word(t.seed, static_cast<uint64_t>(before + i), static_cast<uint32_t>(*t.step));
      t.new_momentum[i] = Bf16{stochastic_round(__float_as_uint(m), draw_of(word, 1))};
    } else {
      t.new_momentum[i] = m;
    }
    t.direction[i] = narrow<D>(static_cast<Accumulator<D>>(fma(beta, m, g)));
  }
}

}  // namespace

void nesterov_cuda(const CudaCall& call) {
  const TensorRef momentum = call.operand(1), shard = call.operand(4), direction = call.result(0);
  const int64_t count = momentum.type->num_elements();
  dispatch_float(momentum.type->dtype, [&]<typename S>() {
    dispatch_float(direction.type->dtype, [&]<typename D>() {
      const NesterovTensors<S, D> tensors{
          .gradient = call.operand(0).as<S>(),
          .momentum = momentum.as<S>(),
          .step = call.operand(2).as<double>(),
          .norm_squares = call.operand(3).as<double>(),
          .shard = shard ? shard.as<int32_t>() : nullptr,
          .new_momentum = call.result(1).as<S>(),
          .direction = direction.as<D>(),
          .beta = call.attributes.real("momentum"),
          .clip_norm = call.attributes.real("clip_norm"),
          .seed = static_cast<uint64_t>(call.attributes.integer("seed"))};
      launch(call, grid_for(count), nesterov_kernel<S, D>, tensors, count);
    });
  });
}

}  // namespace tessera
