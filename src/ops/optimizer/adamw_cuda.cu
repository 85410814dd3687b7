// SPDX-License-Identifier: Apache-2.0
// One pass over weights, gradient and both moments, 16 bytes at a time. What changes between steps
// is read from GPU memory.
#include "exec/cuda/elements.h"
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

// What is the same for all elements.
template <typename A>
struct StepScalars {
  bool finite;  // the gradient's norm; else nothing changes
  A beta1, beta2, epsilon;
  A gradient_scale, decay, step_size, inv_root_bias2;
  int64_t before, decayed;  // elements of earlier shards, and of this one that decay
  uint32_t step;
};

template <typename A, typename S, typename Copy>
__device__ StepScalars<A> step_scalars(const Constants& k, const Tensors<S, Copy>& t,
                                       int64_t count) {
  const double rate = *t.learning_rate, step = *t.step, norm = sqrt(*t.norm_squares);
  const int64_t before = t.shard ? *t.shard * count : int64_t{0};
  return {.finite = isfinite(norm),
          .beta1 = static_cast<A>(k.beta1),
          .beta2 = static_cast<A>(k.beta2),
          .epsilon = static_cast<A>(k.epsilon),
          .gradient_scale =
              static_cast<A>(k.clip_norm > 0 ? min(1.0, k.clip_norm / (norm + 1e-6)) : 1.0),
          .decay = static_cast<A>(1 - rate * k.weight_decay),
          .step_size = static_cast<A>(rate / (1 - pow(k.beta1, step))),
          .inv_root_bias2 = static_cast<A>(1 / sqrt(1 - pow(k.beta2, step))),
          .before = before,
          .decayed = k.decayed < 0 ? count : k.decayed - before,
          .step = static_cast<uint32_t>(step)};
}

// By the GPU's own root and division, to about 1e-6, where the result is rounded to bf16. Numbers
// below 1e-38 count as 0.
__device__ inline float quick_step(float m1, float m2, float inv_root_bias2, float epsilon) {
  float deviation, step;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(deviation) : "f"(m2));
  asm("div.approx.ftz.f32 %0, %1, %2;"
      : "=f"(step)
      : "f"(m1), "f"(deviation * inv_root_bias2 + epsilon));
  return step;
}

// Where a shard does not begin with a word's first element.
__device__ __noinline__ uint32_t single_word(uint64_t seed, uint64_t element, uint32_t step) {
  return rounding_word(seed, element, step);
}

template <int N>
__device__ inline void draw_words(uint64_t seed, uint64_t first, uint32_t step,
                                  uint32_t (&words)[N]) {
  if (N % 4 == 0 && first % 4 == 0) {
#pragma unroll
    for (int j = 0; j + 3 < N; j += 4) {
      const PhiloxWords draws = rounding_draws(seed, first / 4 + j / 4, step);
#pragma unroll
      for (int k = 0; k < 4; ++k) words[j + k] = draws.words[k];
    }
  } else {
    for (int j = 0; j < N; ++j) words[j] = single_word(seed, first + j, step);
  }
}

// rounded_by_chance for all; where all are known to be finite none is asked for that.
template <int N>
__device__ inline Elements<Bf16, N> round_all(const float (&values)[N], const uint32_t (&words)[N],
                                              int tensor, bool all_finite) {
  Elements<Bf16, N> rounded;
  if (N % 2 == 0 && all_finite) {
    auto* pairs = reinterpret_cast<uint32_t*>(rounded.values);
#pragma unroll
    for (int j = 0; j + 1 < N; j += 2)
      pairs[j / 2] = __byte_perm(__float_as_uint(values[j]) + draw_of(words[j], tensor),
                                 __float_as_uint(values[j + 1]) + draw_of(words[j + 1], tensor),
                                 0x7632);  // the upper halves of both
  } else {
#pragma unroll
    for (int j = 0; j < N; ++j)
      rounded.values[j].bits =
          rounded_by_chance(__float_as_uint(values[j]), draw_of(words[j], tensor));
  }
  return rounded;
}

// N elements at i, all of which exist.
template <int N, typename S, typename Copy>
struct Update {
  using A = Accumulator<S>;
  static constexpr bool kByChance = std::is_same_v<S, Bf16>;
  Elements<S, N> w, g, m, v;

  __device__ static void run(const Constants& k, const StepScalars<A>& s, const Tensors<S, Copy>& t,
                             int64_t i) {
    Update update;
    update.load(t, i);
    update.step_and_store(k, s, t, i);
  }

  __device__ void load(const Tensors<S, Copy>& t, int64_t i) {
    w = load_elements<N>(t.weights + i);
    g = load_elements<N>(t.gradient + i);
    m = load_elements<N>(t.moment1 + i);
    v = load_elements<N>(t.moment2 + i);
  }

  __device__ void step_and_store(const Constants& k, const StepScalars<A>& s,
                                 const Tensors<S, Copy>& t, int64_t i) {
    A weights[N];
    if (s.finite) {
      step(k, s, i, weights);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) weights[j] = widen(w.values[j]);
    }
    store_elements(t.new_weights + i, w);
    store_elements(t.new_moment1 + i, m);
    store_elements(t.new_moment2 + i, v);
    if (t.copy) store_elements(t.copy + i, copy_of(weights));
  }

  __device__ void step(const Constants& k, const StepScalars<A>& s, int64_t i, A (&weights)[N]) {
    const int decayed = static_cast<int>(min(max(s.decayed - i, int64_t{0}), int64_t{N}));
    A moments1[N], moments2[N], magnitudes = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const A gradient = widen(g.values[j]) * s.gradient_scale;
      const A m1 = s.beta1 * widen(m.values[j]) + (1 - s.beta1) * gradient;
      const A m2 = s.beta2 * widen(v.values[j]) + (1 - s.beta2) * gradient * gradient;
      const A kept = widen(w.values[j]) * (j < decayed ? s.decay : A{1});
      if constexpr (kByChance)
        weights[j] = kept - s.step_size * quick_step(m1, m2, s.inv_root_bias2, s.epsilon);
      else
        weights[j] = kept - s.step_size * (m1 / (sqrt(m2) * s.inv_root_bias2 + s.epsilon));
      moments1[j] = m1;
      moments2[j] = m2;
      magnitudes += fabs(weights[j]) + m2;  // an m1 that is not finite shows in the weight
    }
    if constexpr (kByChance) {
      uint32_t words[N] = {};
      draw_words(k.seed, static_cast<uint64_t>(s.before + i), s.step, words);
      const bool all_finite = isfinite(magnitudes);
      w = round_all(weights, words, 0, all_finite);
      m = round_all(moments1, words, 1, all_finite);
      v = round_all(moments2, words, 2, all_finite);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        w.values[j] = weights[j];
        m.values[j] = moments1[j];
        v.values[j] = moments2[j];
      }
    }
  }

  __device__ static Elements<Copy, N> copy_of(const A (&weights)[N]) {
    Accumulator<Copy> values[N];
    for (int j = 0; j < N; ++j) values[j] = static_cast<Accumulator<Copy>>(weights[j]);
    return narrow_all<Copy>(values);
  }
};

// A block goes over many elements: to work out the scalars takes its one thread as long as all of
// them take to move a few. Four blocks share a multiprocessor.
template <typename S, typename Copy>
__global__ void __launch_bounds__(kThreads, 4)
    adamw_kernel(Constants k, Tensors<S, Copy> t, int64_t count) {
  constexpr int N = kElements<S>;
  __shared__ StepScalars<Accumulator<S>> scalars;
  if (threadIdx.x == 0) scalars = step_scalars<Accumulator<S>>(k, t, count);
  __syncthreads();
  const int64_t packs = count / N;
  for (int64_t pack = first_index(); pack < packs; pack += index_stride())
    Update<N, S, Copy>::run(k, scalars, t, pack * N);
  const int64_t rest = packs * N + first_index();
  if (rest < count) Update<1, S, Copy>::run(k, scalars, t, rest);
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
  launch(call, grid_for(std::max<int64_t>(count / kElements<S>, 1)), adamw_kernel<S, Copy>,
         constants, tensors, count);
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
