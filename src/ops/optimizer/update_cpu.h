// SPDX-License-Identifier: Apache-2.0
// What the CPU kernels of all optimizers share: one pass over weights, gradient and slots, bound by
// memory. A rule, such as AdamwRule<float>, holds the scalars of one step and says what becomes of
// one element.
#if defined(TESSERA_OPS_OPTIMIZER_UPDATE_CPU_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OPS_OPTIMIZER_UPDATE_CPU_H
#undef TESSERA_OPS_OPTIMIZER_UPDATE_CPU_H
#else
#define TESSERA_OPS_OPTIMIZER_UPDATE_CPU_H
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "exec/cpu/lanes.h"
#include "ops/optimizer/optimizer_op.h"
#include "ops/optimizer/stochastic_rounding.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Updates in bf16 draw a number per element of the whole flat buffer and step.
struct StochasticRounding {
  uint64_t seed, first_element;
  uint32_t step;

  TESSERA_INLINE uint32_t word(int64_t i) const {
    return rounding_word(seed, first_element + static_cast<uint64_t>(i), step);
  }
};

// S: how weights, gradient and slots are kept.
template <typename S, typename Copy, size_t kSlots>
struct UpdateTensors {
  const S *weights, *gradient;
  std::array<const S*, kSlots> slots;
  S* new_weights;
  std::array<S*, kSlots> new_slots;
  Copy* copy;                   // null: none
  StochasticRounding rounding;  // where S is bf16
};

// The weights that do not decay have a decay of 1.
template <typename Rule, typename A>
struct UpdateStep {
  Rule rule;
  A gradient_scale;  // clipping
  A decay;           // 1 - learning_rate * weight_decay
};

template <bool kCopies, typename Rule, typename S, typename Copy>
TESSERA_INLINE void update_elements(const UpdateStep<Rule, Accumulator<S>>& step,
                                    const UpdateTensors<S, Copy, Rule::kSlots>& t, int64_t begin,
                                    int64_t end) {
  using A = Accumulator<S>;
  const UpdateStep<Rule, A> s = step;  // in registers: nothing below can change it
#pragma GCC ivdep
  for (int64_t i = begin; i < end; ++i) {
    const A g = load(t.gradient[i]) * s.gradient_scale;
    std::array<A, Rule::kSlots> slots;
    for (size_t k = 0; k < Rule::kSlots; ++k) slots[k] = load(t.slots[k][i]);
    const A w = s.rule.apply(load(t.weights[i]) * s.decay, g, slots);
    if constexpr (std::is_same_v<S, Bf16>) {
      const uint32_t word = t.rounding.word(i);
      const auto rounded = [&](float x, int tensor) {
        return Bf16{stochastic_round(std::bit_cast<uint32_t>(x), draw_of(word, tensor))};
      };
      for (size_t k = 0; k < Rule::kSlots; ++k)
        t.new_slots[k][i] = rounded(slots[k], static_cast<int>(k) + 1);
      t.new_weights[i] = rounded(w, 0);
    } else {
      for (size_t k = 0; k < Rule::kSlots; ++k) t.new_slots[k][i] = slots[k];
      t.new_weights[i] = w;
    }
    if constexpr (kCopies) t.copy[i] = store<Copy>(static_cast<Accumulator<Copy>>(w));
  }
}

template <typename Rule, typename S, typename Copy>
void update_range(const UpdateStep<Rule, Accumulator<S>>& step,
                  const UpdateTensors<S, Copy, Rule::kSlots>& tensors, int64_t begin, int64_t end) {
  if (tensors.copy)
    update_elements<true, Rule>(step, tensors, begin, end);
  else
    update_elements<false, Rule>(step, tensors, begin, end);
}

// From a gradient that is not finite there is nothing to learn.
template <typename S, typename Copy, size_t kSlots>
void keep_elements(const UpdateTensors<S, Copy, kSlots>& t, int64_t begin, int64_t end) {
  const auto keep = [&](const S* from, S* to) {
    if (from != to) std::copy(from + begin, from + end, to + begin);
  };
  keep(t.weights, t.new_weights);
  for (size_t k = 0; k < kSlots; ++k) keep(t.slots[k], t.new_slots[k]);
  for (int64_t i = begin; t.copy && i < end; ++i)
    t.copy[i] = store<Copy>(static_cast<Accumulator<Copy>>(load(t.weights[i])));
}

// By which clipping scales gradients.
inline double clipping_scale(const Attributes& attributes, double norm_squares) {
  const double norm = std::sqrt(norm_squares), clip = attributes.real("clip_norm");
  return clip > 0 ? std::min(1.0, clip / (norm + 1e-6)) : 1.0;
}

// The scalars of one call.
struct UpdateCall {
  const CpuCall& call;
  OptimizerOperands at;

  double scalar(size_t operand) const { return *call.operand(operand).as<double>(); }
  double learning_rate() const {
    return scalar(at.learning_rate()) * call.attributes.real("rate_factor");
  }
  double step() const { return scalar(at.step()); }
  bool is_finite() const { return std::isfinite(scalar(at.norm_squares())); }
  int64_t elements() const { return call.result(0).type->num_elements(); }

  double gradient_scale() const {
    return clipping_scale(call.attributes, scalar(at.norm_squares()));
  }
  // Elements before these in the flat buffer that they are a shard of.
  int64_t elements_before() const {
    const TensorRef shard = call.operand(at.shard());
    return shard ? *shard.as<int32_t>() * elements() : 0;
  }
  // How many of these elements decay: the first ones.
  int64_t decayed() const {
    const int64_t decayed = call.attributes.integer("decayed");
    if (decayed < 0) return elements();
    return std::clamp<int64_t>(decayed - elements_before(), 0, elements());
  }

  template <typename S, typename Copy, size_t kSlots>
  UpdateTensors<S, Copy, kSlots> tensors() const {
    const TensorRef copy = call.result(at.copy_result());
    UpdateTensors<S, Copy, kSlots> t{
        .weights = call.operand(0).as<S>(),
        .gradient = call.operand(1).as<S>(),
        .slots = {},
        .new_weights = call.result(0).as<S>(),
        .new_slots = {},
        .copy = copy ? copy.as<Copy>() : nullptr,
        .rounding = {.seed = static_cast<uint64_t>(call.attributes.integer("seed")),
                     .first_element = static_cast<uint64_t>(elements_before()),
                     .step = static_cast<uint32_t>(step())}};
    for (size_t k = 0; k < kSlots; ++k) {
      t.slots[k] = call.operand(at.slot(k)).as<S>();
      t.new_slots[k] = call.result(at.slot_result(k)).as<S>();
    }
    return t;
  }
};

template <typename Rule, typename S, typename Copy>
void run_update_in(const UpdateCall& update) {
  using A = Accumulator<S>;
  const Attributes& attributes = update.call.attributes;
  const double learning_rate = update.learning_rate();
  const UpdateStep<Rule, A> step{
      .rule = Rule(attributes, learning_rate, update.step()),
      .gradient_scale = static_cast<A>(update.gradient_scale()),
      .decay = static_cast<A>(1 - learning_rate * attributes.real("weight_decay"))};
  UpdateStep<Rule, A> undecayed = step;
  undecayed.decay = 1;
  const auto tensors = update.tensors<S, Copy, Rule::kSlots>();
  const int64_t decayed = update.decayed();
  const bool finite = update.is_finite();
  update.call.threads.run_ranges(update.elements(), kPieceElements,
                                 [&](int64_t begin, int64_t end, int) {
                                   if (!finite) return keep_elements(tensors, begin, end);
                                   const int64_t middle = std::clamp(decayed, begin, end);
                                   if (begin < middle) update_range(step, tensors, begin, middle);
                                   if (middle < end) update_range(undecayed, tensors, middle, end);
                                 });
}

template <template <typename> typename Rule>
void run_update(const CpuCall& call) {
  const UpdateCall update{.call = call, .at = {.slots = Rule<float>::kSlots}};
  const DType dtype = call.result(0).type->dtype;
  const TensorRef copy = call.result(update.at.copy_result());
  dispatch_float(copy ? copy.type->dtype : dtype, [&]<typename Copy>() {
    dispatch_float(dtype,
                   [&]<typename S>() { run_update_in<Rule<Accumulator<S>>, S, Copy>(update); });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
