// SPDX-License-Identifier: Apache-2.0
// One pass, bound by memory.
#define HWY_TARGET_INCLUDE "ops/optimizer/nesterov_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/optimizer/update_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// S: how gradient and momentum are kept.
template <typename S, typename D>
struct NesterovStep {
  const S *gradient, *momentum;
  S* new_momentum;
  D* direction;
  Accumulator<S> beta, gradient_scale;
  StochasticRounding rounding;

  void apply(int64_t begin, int64_t end) const {
    const NesterovStep s = *this;  // in registers: nothing below can change it
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) {
      const auto g = load(s.gradient[i]) * s.gradient_scale;
      const auto m = s.beta * load(s.momentum[i]) + g;
      if constexpr (std::is_same_v<S, Bf16>)
        s.new_momentum[i] =
            Bf16{stochastic_round(std::bit_cast<uint32_t>(m), draw_of(s.rounding.word(i), 1))};
      else
        s.new_momentum[i] = m;
      s.direction[i] = store<D>(static_cast<Accumulator<D>>(g + s.beta * m));
    }
  }

  void keep(int64_t begin, int64_t end) const {
    std::fill(direction + begin, direction + end, D{});
    if (new_momentum != momentum) std::copy(momentum + begin, momentum + end, new_momentum + begin);
  }
};

}  // namespace

void nesterov_cpu(const CpuCall& call) {
  const TensorRef momentum = call.operand(1), shard = call.operand(4), direction = call.result(0);
  const int64_t elements = momentum.type->num_elements();
  const double norm_squares = *call.operand(3).as<double>();
  dispatch_float(momentum.type->dtype, [&]<typename S>() {
    dispatch_float(direction.type->dtype, [&]<typename D>() {
      const NesterovStep<S, D> step{
          .gradient = call.operand(0).as<S>(),
          .momentum = momentum.as<S>(),
          .new_momentum = call.result(1).as<S>(),
          .direction = direction.as<D>(),
          .beta = static_cast<Accumulator<S>>(call.attributes.real("momentum")),
          .gradient_scale =
              static_cast<Accumulator<S>>(clipping_scale(call.attributes, norm_squares)),
          .rounding = {
              .seed = static_cast<uint64_t>(call.attributes.integer("seed")),
              .first_element = static_cast<uint64_t>(shard ? *shard.as<int32_t>() * elements : 0),
              .step = static_cast<uint32_t>(*call.operand(2).as<double>())}};
      call.threads.run_ranges(elements, kPieceElements, [&](int64_t begin, int64_t end, int) {
        std::isfinite(norm_squares) ? step.apply(begin, end) : step.keep(begin, end);
      });
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(nesterov_cpu)
}  // namespace tessera
#endif
