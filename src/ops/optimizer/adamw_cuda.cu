// SPDX-License-Identifier: Apache-2.0
// One pass over weights, gradient and both moments. What changes between steps is read from GPU
// memory by every thread.
#include "exec/cuda/kernel_launch.h"
#include "ops/optimizer/stochastic_rounding.h"

namespace tessera {
namespace {

struct Constants {
  double beta1, beta2, epsilon, weight_decay, clip_norm;
  int64_t decayed;  // elements; negative: all
  uint64_t seed;    // of rounding by chance
};

// S: how weights, gradient and moments are kept.
template <typename S, typename Copy>
struct Tensors {
  const S *weights, *gradient, *moment1, *moment2;
  const double *learning_rate, *step, *norm_squares;
  const int32_t* shard;  // null: the only one
  S *new_weights, *new_moment1, *new_moment2;
  Copy* copy;  // null: none
};

template <typename S, typename Copy>
__global__ void adamw_kernel(Constants k, Tensors<S, Copy> t, int64_t count) {
  using A = Accumulator<S>;
  const double rate = *t.learning_rate, step = *t.step, norm = sqrt(*t.norm_squares);
  const A beta1 = static_cast<A>(k.beta1), beta2 = static_cast<A>(k.beta2);
  const A rest1 = 1 - beta1, rest2 = 1 - beta2, epsilon = static_cast<A>(k.epsilon);
  const A gradient_scale =
      static_cast<A>(k.clip_norm > 0 ? min(1.0, k.clip_norm / (norm + 1e-6)) : 1.0);
  const A decay = static_cast<A>(1 - rate * k.weight_decay);
  const A step_size = static_cast<A>(rate / (1 - pow(k.beta1, step)));
  const A inv_root_bias2 = static_cast<A>(1 / sqrt(1 - pow(k.beta2, step)));
  const int64_t before = t.shard ? *t.shard * count : int64_t{0};
  const int64_t decayed = k.decayed < 0 ? count : k.decayed - before;
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const A g = widen(t.gradient[i]) * gradient_scale;
    const A m = beta1 * widen(t.moment1[i]) + rest1 * g;
    const A v = beta2 * widen(t.moment2[i]) + rest2 * g * g;
    const A w = widen(t.weights[i]) * (i < decayed ? decay : A{1}) -
                step_size * (m / (sqrt(v) * inv_root_bias2 + epsilon));
    if constexpr (std::is_same_v<S, Bf16>) {
      const auto element = static_cast<uint64_t>(before + i);
      const PhiloxWords draws = rounding_draws(k.seed, element / 2, static_cast<uint32_t>(step));
      t.new_moment1[i] = Bf16{rounded_by_chance(__float_as_uint(m), draw_of(draws, element, 1))};
      t.new_moment2[i] = Bf16{rounded_by_chance(__float_as_uint(v), draw_of(draws, element, 2))};
      t.new_weights[i] = Bf16{rounded_by_chance(__float_as_uint(w), draw_of(draws, element, 0))};
    } else {
      t.new_moment1[i] = m;
      t.new_moment2[i] = v;
      t.new_weights[i] = w;
    }
    if (t.copy) t.copy[i] = narrow<Copy>(static_cast<Accumulator<Copy>>(w));
  }
}

template <typename S, typename Copy>
void run_adamw(const CudaCall& call) {
  const Attributes& a = call.attributes;
  const TensorRef shard = call.operand(7), copy = call.result(3);
  const Constants constants{.beta1 = a.real("beta1"),
                            .beta2 = a.real("beta2"),
                            .epsilon = a.real("epsilon"),
                            .weight_decay = a.real("weight_decay"),
                            .clip_norm = a.real("clip_norm"),
                            .decayed = a.integer("decayed"),
                            .seed = static_cast<uint64_t>(a.integer("seed"))};
  const Tensors<S, Copy> tensors{.weights = call.operand(0).as<S>(),
                                 .gradient = call.operand(1).as<S>(),
                                 .moment1 = call.operand(2).as<S>(),
                                 .moment2 = call.operand(3).as<S>(),
                                 .learning_rate = call.operand(4).as<double>(),
                                 .step = call.operand(5).as<double>(),
                                 .norm_squares = call.operand(6).as<double>(),
                                 .shard = shard ? shard.as<int32_t>() : nullptr,
                                 .new_weights = call.result(0).as<S>(),
                                 .new_moment1 = call.result(1).as<S>(),
                                 .new_moment2 = call.result(2).as<S>(),
                                 .copy = copy ? copy.as<Copy>() : nullptr};
  const int64_t count = call.result(0).type->num_elements();
  launch(call, grid_for(count), adamw_kernel<S, Copy>, constants, tensors, count);
}

}  // namespace

void adamw_cuda(const CudaCall& call) {
  const DType dtype = call.result(0).type->dtype;
  const DType copy = call.result(3) ? call.result(3).type->dtype : dtype;
  dispatch_float(copy, [&]<typename Copy>() {
    dispatch_float(dtype, [&]<typename S>() { run_adamw<S, Copy>(call); });
  });
}

}  // namespace tessera
