// SPDX-License-Identifier: Apache-2.0
// One pass over weights, gradient and both moments. What changes between steps is read from GPU
// memory by every thread.
#include "exec/cuda/kernel_launch.h"

namespace tessera {
namespace {

struct Constants {
  double beta1, beta2, epsilon, weight_decay, clip_norm;
  int64_t decayed;  // elements; negative: all
};

template <typename A, typename Copy>
struct Tensors {
  const A *weights, *gradient, *moment1, *moment2;
  const double *learning_rate, *step, *norm_squares;
  const int32_t* shard;  // null: the only one
  A *new_weights, *new_moment1, *new_moment2;
  Copy* copy;  // null: none
};

template <typename A, typename Copy>
__global__ void adamw_kernel(Constants k, Tensors<A, Copy> t, int64_t count) {
  const double rate = *t.learning_rate, step = *t.step, norm = sqrt(*t.norm_squares);
  const A beta1 = static_cast<A>(k.beta1), beta2 = static_cast<A>(k.beta2);
  const A rest1 = 1 - beta1, rest2 = 1 - beta2, epsilon = static_cast<A>(k.epsilon);
  const A gradient_scale =
      static_cast<A>(k.clip_norm > 0 ? min(1.0, k.clip_norm / (norm + 1e-6)) : 1.0);
  const A decay = static_cast<A>(1 - rate * k.weight_decay);
  const A step_size = static_cast<A>(rate / (1 - pow(k.beta1, step)));
  const A inv_root_bias2 = static_cast<A>(1 / sqrt(1 - pow(k.beta2, step)));
  const int64_t decayed =
      k.decayed < 0 ? count : k.decayed - (t.shard ? *t.shard * count : int64_t{0});
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const A g = t.gradient[i] * gradient_scale;
    const A m = beta1 * t.moment1[i] + rest1 * g;
    const A v = beta2 * t.moment2[i] + rest2 * g * g;
    const A w = t.weights[i] * (i < decayed ? decay : A{1}) -
                step_size * (m / (sqrt(v) * inv_root_bias2 + epsilon));
    t.new_moment1[i] = m;
    t.new_moment2[i] = v;
    t.new_weights[i] = w;
    if (t.copy) t.copy[i] = narrow<Copy>(static_cast<Accumulator<Copy>>(w));
  }
}

template <typename A, typename Copy>
void run_adamw(const CudaCall& call) {
  const Attributes& a = call.attributes;
  const TensorRef shard = call.operand(7), copy = call.result(3);
  const Constants constants{.beta1 = a.real("beta1"),
                            .beta2 = a.real("beta2"),
                            .epsilon = a.real("epsilon"),
                            .weight_decay = a.real("weight_decay"),
                            .clip_norm = a.real("clip_norm"),
                            .decayed = a.integer("decayed")};
  const Tensors<A, Copy> tensors{.weights = call.operand(0).as<A>(),
                                 .gradient = call.operand(1).as<A>(),
                                 .moment1 = call.operand(2).as<A>(),
                                 .moment2 = call.operand(3).as<A>(),
                                 .learning_rate = call.operand(4).as<double>(),
                                 .step = call.operand(5).as<double>(),
                                 .norm_squares = call.operand(6).as<double>(),
                                 .shard = shard ? shard.as<int32_t>() : nullptr,
                                 .new_weights = call.result(0).as<A>(),
                                 .new_moment1 = call.result(1).as<A>(),
                                 .new_moment2 = call.result(2).as<A>(),
                                 .copy = copy ? copy.as<Copy>() : nullptr};
  const int64_t count = call.result(0).type->num_elements();
  launch(call, grid_for(count), adamw_kernel<A, Copy>, constants, tensors, count);
}

}  // namespace

void adamw_cuda(const CudaCall& call) {
  const DType dtype = call.result(0).type->dtype;
  const DType copy = call.result(3) ? call.result(3).type->dtype : dtype;
  dispatch_float(copy, [&]<typename Copy>() {
    if (dtype == DType::Fp64)
      run_adamw<double, Copy>(call);
    else
      run_adamw<float, Copy>(call);
  });
}

}  // namespace tessera
