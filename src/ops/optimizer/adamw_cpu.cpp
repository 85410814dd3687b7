// SPDX-License-Identifier: Apache-2.0
// One pass over weights, gradient and both moments: bound by memory.
#include <algorithm>
#include <bit>
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/simd.h"
#include "ops/optimizer/stochastic_rounding.h"
#include "ops/row_ranges.h"

namespace tessera {
namespace {

template <typename A>
struct Settings {
  A beta1, beta2, epsilon;
  A gradient_scale;  // clipping
  A decay;           // 1 - learning_rate * weight_decay
  A step_size;       // learning_rate / (1 - beta1^step)
  A inv_root_bias2;  // 1 / sqrt(1 - beta2^step)
};

// What updates in bf16 are rounded by: a draw per element of the whole flat buffer and step.
struct Rounding {
  uint64_t seed, first;
  uint32_t step;
};

Bf16 rounded(float x, uint32_t draw) {
  return {rounded_by_chance(std::bit_cast<uint32_t>(x), draw)};
}

template <typename A>
Settings<A> settings_of(const CpuCall& call) {
  const Attributes& a = call.attributes;
  const double learning_rate = *call.operand(4).as<double>(), step = *call.operand(5).as<double>();
  const double norm = std::sqrt(*call.operand(6).as<double>()), clip = a.real("clip_norm");
  return {.beta1 = static_cast<A>(a.real("beta1")),
          .beta2 = static_cast<A>(a.real("beta2")),
          .epsilon = static_cast<A>(a.real("epsilon")),
          .gradient_scale = static_cast<A>(clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0),
          .decay = static_cast<A>(1 - learning_rate * a.real("weight_decay")),
          .step_size = static_cast<A>(learning_rate / (1 - std::pow(a.real("beta1"), step))),
          .inv_root_bias2 = static_cast<A>(1 / std::sqrt(1 - std::pow(a.real("beta2"), step)))};
}

// S: how weights, gradient and moments are kept.
template <typename S, typename Copy>
struct Tensors {
  const S *weights, *gradient, *moment1, *moment2;
  S *new_weights, *new_moment1, *new_moment2;
  Copy* copy;         // null: none
  Rounding rounding;  // where S is bf16
};

template <typename S, typename Copy, bool kCopies>
TESSERA_INLINE void update(const Settings<Accumulator<S>>& settings, const Tensors<S, Copy>& t,
                           int64_t begin, int64_t end) {
  using A = Accumulator<S>;
  const Settings<A> s = settings;  // in registers: nothing below can change it
  const A rest1 = 1 - s.beta1, rest2 = 1 - s.beta2;
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    const A g = load(t.gradient[i]) * s.gradient_scale;
    const A m = s.beta1 * load(t.moment1[i]) + rest1 * g;
    const A v = s.beta2 * load(t.moment2[i]) + rest2 * g * g;
    const A w = load(t.weights[i]) * s.decay -
                s.step_size * (m / (std::sqrt(v) * s.inv_root_bias2 + s.epsilon));
    if constexpr (std::is_same_v<S, Bf16>) {
      const uint64_t element = t.rounding.first + static_cast<uint64_t>(i);
      const uint32_t word = rounding_word(t.rounding.seed, element, t.rounding.step);
      t.new_moment1[i] = rounded(m, draw_of(word, 1));
      t.new_moment2[i] = rounded(v, draw_of(word, 2));
      t.new_weights[i] = rounded(w, draw_of(word, 0));
    } else {
      t.new_moment1[i] = m;
      t.new_moment2[i] = v;
      t.new_weights[i] = w;
    }
    if constexpr (kCopies) t.copy[i] = store<Copy>(static_cast<Accumulator<Copy>>(w));
  }
}

template <typename S, typename Copy>
TESSERA_SIMD void adamw_range(const Settings<Accumulator<S>>& settings,
                              const Tensors<S, Copy>& tensors, int64_t begin, int64_t end) {
  if (tensors.copy)
    update<S, Copy, true>(settings, tensors, begin, end);
  else
    update<S, Copy, false>(settings, tensors, begin, end);
}

// Of the flat buffer that these elements are a shard of.
int64_t elements_before(const CpuCall& call, int64_t elements) {
  return call.operand(7) ? *call.operand(7).as<int32_t>() * elements : 0;
}

// How many of these elements decay: the first ones.
int64_t decayed_elements(const CpuCall& call, int64_t elements) {
  const int64_t decayed = call.attributes.integer("decayed");
  if (decayed < 0) return elements;
  return std::clamp<int64_t>(decayed - elements_before(call, elements), 0, elements);
}

Rounding rounding_of(const CpuCall& call) {
  return {
      .seed = static_cast<uint64_t>(call.attributes.integer("seed")),
      .first = static_cast<uint64_t>(elements_before(call, call.result(0).type->num_elements())),
      .step = static_cast<uint32_t>(*call.operand(5).as<double>())};
}

// From a gradient that is not finite there is nothing to learn.
template <typename S, typename Copy>
void keep_all(const Tensors<S, Copy>& t, int64_t begin, int64_t end) {
  const auto keep = [&](const S* from, S* to) {
    if (from != to) std::copy(from + begin, from + end, to + begin);
  };
  keep(t.weights, t.new_weights);
  keep(t.moment1, t.new_moment1);
  keep(t.moment2, t.new_moment2);
  for (int64_t i = begin; t.copy && i < end; ++i)
    t.copy[i] = store<Copy>(static_cast<Accumulator<Copy>>(load(t.weights[i])));
}

template <typename S, typename Copy>
void run_adamw(const CpuCall& call) {
  using A = Accumulator<S>;
  const TensorRef copy = call.result(3);
  const Settings<A> settings = settings_of<A>(call);
  const Tensors<S, Copy> tensors{.weights = call.operand(0).as<S>(),
                                 .gradient = call.operand(1).as<S>(),
                                 .moment1 = call.operand(2).as<S>(),
                                 .moment2 = call.operand(3).as<S>(),
                                 .new_weights = call.result(0).as<S>(),
                                 .new_moment1 = call.result(1).as<S>(),
                                 .new_moment2 = call.result(2).as<S>(),
                                 .copy = copy ? copy.as<Copy>() : nullptr,
                                 .rounding = rounding_of(call)};
  Settings<A> undecayed = settings;
  undecayed.decay = 1;
  const int64_t elements = call.result(0).type->num_elements();
  const int64_t decayed = decayed_elements(call, elements);
  const bool finite = std::isfinite(*call.operand(6).as<double>());
  call.threads.run_ranges(elements, kPieceElements, [&](int64_t begin, int64_t end, int) {
    if (!finite) return keep_all(tensors, begin, end);
    const int64_t middle = std::clamp(decayed, begin, end);
    if (begin < middle) adamw_range(settings, tensors, begin, middle);
    if (middle < end) adamw_range(undecayed, tensors, middle, end);
  });
}

}  // namespace

void adamw_cpu(const CpuCall& call) {
  const DType dtype = call.result(0).type->dtype;
  const DType copy = call.result(3) ? call.result(3).type->dtype : dtype;
  dispatch_float(copy, [&]<typename Copy>() {
    dispatch_float(dtype, [&]<typename S>() { run_adamw<S, Copy>(call); });
  });
}

}  // namespace tessera
