// SPDX-License-Identifier: Apache-2.0
// What the CUDA kernels of all optimizers share: one pass over weights, gradient and slots, 16
// bytes at a time. What changes between steps is read from GPU memory. A rule, such as
// AdamwRule<float>, holds the scalars of one step and says what becomes of one element; its
// Constants are known when the kernel is launched.
#pragma once

#include "exec/cuda/elements.h"
#include "ops/optimizer/optimizer_op.h"
#include "ops/optimizer/stochastic_rounding.h"

namespace tessera {

template <typename RuleConstants>
struct UpdateConstants {
  RuleConstants rule;
  double rate_factor, weight_decay, clip_norm;
  int64_t decayed;  // elements; negative: all
  uint64_t seed;    // of stochastic rounding
};

// An array has at least one element, also where there are no slots.
constexpr int array_of(int slots) { return slots > 0 ? slots : 1; }

// S: how weights, gradient and slots are kept.
template <typename S, typename Copy, int kSlots>
struct CudaUpdateTensors {
  const S *weights, *gradient;
  const S* slots[array_of(kSlots)];
  const double *learning_rate, *step, *norm_squares;
  const int32_t* shard;  // null: the only one
  S* new_weights;
  S* new_slots[array_of(kSlots)];
  Copy* copy;  // null: none
};

// What is the same for all elements.
template <typename Rule, typename A>
struct StepScalars {
  bool finite;  // the gradient's norm; else nothing changes
  Rule rule;
  A gradient_scale, decay;
  int64_t before, decayed;  // elements of earlier shards, and of this one that decay
  uint32_t step;
};

template <typename Rule, typename A, typename Tensors>
__device__ StepScalars<Rule, A> step_scalars(const UpdateConstants<typename Rule::Constants>& k,
                                             const Tensors& t, int64_t count) {
  const double rate = *t.learning_rate * k.rate_factor, step = *t.step,
               norm = sqrt(*t.norm_squares);
  const int64_t before = t.shard ? *t.shard * count : int64_t{0};
  return {.finite = isfinite(norm),
          .rule = Rule::at_step(k.rule, rate, step),
          .gradient_scale =
              static_cast<A>(k.clip_norm > 0 ? min(1.0, k.clip_norm / (norm + 1e-6)) : 1.0),
          .decay = static_cast<A>(1 - rate * k.weight_decay),
          .before = before,
          .decayed = k.decayed < 0 ? count : k.decayed - before,
          .step = static_cast<uint32_t>(step)};
}

// Where a shard does not begin with a word's first element.
template <int = 0>
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

// stochastic_round for all; where all are known to be finite none is asked for that.
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
          stochastic_round(__float_as_uint(values[j]), draw_of(words[j], tensor));
  }
  return rounded;
}

// N elements at i, all of which exist.
template <typename Rule, int N, typename S, typename Copy>
struct Update {
  using A = Accumulator<S>;
  static constexpr int kSlots = Rule::kSlots;
  static constexpr bool kStochastic = std::is_same_v<S, Bf16>;
  using Constants = UpdateConstants<typename Rule::Constants>;
  using Scalars = StepScalars<Rule, A>;
  using Tensors = CudaUpdateTensors<S, Copy, kSlots>;
  Elements<S, N> w, g, slots[array_of(kSlots)];

  __device__ static void run(const Constants& k, const Scalars& s, const Tensors& t, int64_t i) {
    Update update;
    update.load(t, i);
    update.step_and_store(k, s, t, i);
  }

  __device__ void load(const Tensors& t, int64_t i) {
    w = load_elements<N>(t.weights + i);
    g = load_elements<N>(t.gradient + i);
#pragma unroll
    for (int k = 0; k < kSlots; ++k) slots[k] = load_elements<N>(t.slots[k] + i);
  }

  __device__ void step_and_store(const Constants& k, const Scalars& s, const Tensors& t,
                                 int64_t i) {
    A weights[N];
    if (s.finite) {
      step(k, s, i, weights);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) weights[j] = widen(w.values[j]);
    }
    store_elements(t.new_weights + i, w);
#pragma unroll
    for (int slot = 0; slot < kSlots; ++slot) store_elements(t.new_slots[slot] + i, slots[slot]);
    if (t.copy) store_elements(t.copy + i, copy_of(weights));
  }

  __device__ void step(const Constants& k, const Scalars& s, int64_t i, A (&weights)[N]) {
    const int decayed = static_cast<int>(min(max(s.decayed - i, int64_t{0}), int64_t{N}));
    A next[array_of(kSlots)][N], magnitudes = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      A element[array_of(kSlots)];
#pragma unroll
      for (int slot = 0; slot < kSlots; ++slot) element[slot] = widen(slots[slot].values[j]);
      const A gradient = widen(g.values[j]) * s.gradient_scale;
      const A kept = widen(w.values[j]) * (j < decayed ? s.decay : A{1});
      weights[j] = s.rule.template apply<kStochastic>(kept, gradient, element);
      magnitudes += fabs(weights[j]);
#pragma unroll
      for (int slot = 0; slot < kSlots; ++slot) {
        next[slot][j] = element[slot];
        magnitudes += fabs(element[slot]);
      }
    }
    if constexpr (kStochastic) {
      uint32_t words[N] = {};
      draw_words(k.seed, static_cast<uint64_t>(s.before + i), s.step, words);
      const bool all_finite = isfinite(magnitudes);
      w = round_all(weights, words, 0, all_finite);
#pragma unroll
      for (int slot = 0; slot < kSlots; ++slot)
        slots[slot] = round_all(next[slot], words, slot + 1, all_finite);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) {
        w.values[j] = weights[j];
#pragma unroll
        for (int slot = 0; slot < kSlots; ++slot) slots[slot].values[j] = next[slot][j];
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
template <typename Rule, typename S, typename Copy>
__global__ void __launch_bounds__(kThreads, 4)
    update_kernel(UpdateConstants<typename Rule::Constants> k,
                  CudaUpdateTensors<S, Copy, Rule::kSlots> t, int64_t count) {
  constexpr int N = kElements<S>;
  __shared__ StepScalars<Rule, Accumulator<S>> scalars;
  if (threadIdx.x == 0) scalars = step_scalars<Rule, Accumulator<S>>(k, t, count);
  __syncthreads();
  const int64_t packs = count / N;
  for (int64_t pack = first_index(); pack < packs; pack += index_stride())
    Update<Rule, N, S, Copy>::run(k, scalars, t, pack * N);
  const int64_t rest = packs * N + first_index();
  if (rest < count) Update<Rule, 1, S, Copy>::run(k, scalars, t, rest);
}

template <typename Rule, typename S, typename Copy>
void run_update_in(const CudaCall& call, const typename Rule::Constants& rule) {
  const OptimizerOperands at{.slots = Rule::kSlots};
  const Attributes& a = call.attributes;
  const TensorRef shard = call.operand(at.shard()), copy = call.result(at.copy_result());
  const UpdateConstants<typename Rule::Constants> constants{
      .rule = rule,
      .rate_factor = a.real("rate_factor"),
      .weight_decay = a.real("weight_decay"),
      .clip_norm = a.real("clip_norm"),
      .decayed = a.integer("decayed"),
      .seed = static_cast<uint64_t>(a.integer("seed"))};
  CudaUpdateTensors<S, Copy, Rule::kSlots> tensors{
      .weights = call.operand(0).as<S>(),
      .gradient = call.operand(1).as<S>(),
      .slots = {},
      .learning_rate = call.operand(at.learning_rate()).as<double>(),
      .step = call.operand(at.step()).as<double>(),
      .norm_squares = call.operand(at.norm_squares()).as<double>(),
      .shard = shard ? shard.as<int32_t>() : nullptr,
      .new_weights = call.result(0).as<S>(),
      .new_slots = {},
      .copy = copy ? copy.as<Copy>() : nullptr};
  for (size_t k = 0; k < at.slots; ++k) {
    tensors.slots[k] = call.operand(at.slot(k)).as<S>();
    tensors.new_slots[k] = call.result(at.slot_result(k)).as<S>();
  }
  const int64_t count = call.result(0).type->num_elements();
  launch(call, grid_for(std::max<int64_t>(count / kElements<S>, 1)), update_kernel<Rule, S, Copy>,
         constants, tensors, count);
}

template <template <typename> typename Rule>
void run_update(const CudaCall& call, const typename Rule<float>::Constants& constants) {
  const DType dtype = call.result(0).type->dtype;
  const TensorRef copy = call.result(OptimizerOperands{.slots = Rule<float>::kSlots}.copy_result());
  dispatch_float(copy ? copy.type->dtype : dtype, [&]<typename Copy>() {
    dispatch_float(dtype, [&]<typename S>() {
      run_update_in<Rule<Accumulator<S>>, S, Copy>(call, constants);
    });
  });
}

}  // namespace tessera
