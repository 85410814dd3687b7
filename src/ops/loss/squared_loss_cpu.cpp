// SPDX-License-Identifier: Apache-2.0
// The sum of squared differences of a piece, shared by squared_loss and its gradient.
#define HWY_TARGET_INCLUDE "ops/loss/squared_loss_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/fixed_order_sums_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct SquaredDifference {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x, const V& y) const {
    const V difference = x - y;
    return difference * difference;
  }
};

template <typename T>
TESSERA_INLINE double squared_differences(const T* prediction, const T* target, int64_t count) {
  return sum_terms<double>(count, SquaredDifference{}, prediction, target);
}

template <typename T>
double loss_of_piece(const T* prediction, const T* target, int64_t count) {
  return squared_differences(prediction, target, count);
}

}  // namespace

void squared_loss_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const double label_count = *call.operand(2).as<double>();
  double& loss = *call.result(0).as<double>();
  dispatch_float(type.dtype, [&]<typename T>() {
    const T *prediction = call.operand(0).as<T>(), *target = call.operand(1).as<T>();
    const double sum = sum_pieces(call, type.num_elements(), [&](int64_t begin, int64_t end) {
      return loss_of_piece(prediction + begin, target + begin, end - begin);
    });
    loss = (call.accumulates(0) ? loss : 0.0) + sum / label_count;
  });
}

// A piece is summed and then, still in the cache, turned into its gradient.
namespace {

template <typename T>
double grad_of_piece(const T* prediction, const T* target, T* dprediction, Accumulator<T> scale,
                     int64_t count) {
  const double sum = squared_differences(prediction, target, count);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i)
    dprediction[i] = store<T>((load(prediction[i]) - load(target[i])) * scale);
  return sum;
}

}  // namespace

void squared_loss_grad_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const double label_count = *call.operand(2).as<double>();
  double& loss = *call.result(0).as<double>();
  dispatch_float(type.dtype, [&]<typename T>() {
    const T *prediction = call.operand(0).as<T>(), *target = call.operand(1).as<T>();
    T* dprediction = call.result(1).as<T>();
    const auto scale = static_cast<Accumulator<T>>(2 / label_count);
    const double sum = sum_pieces(call, type.num_elements(), [&](int64_t begin, int64_t end) {
      return grad_of_piece(prediction + begin, target + begin, dprediction + begin, scale,
                           end - begin);
    });
    loss = (call.accumulates(0) ? loss : 0.0) + sum / label_count;
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(squared_loss_cpu)
TESSERA_KERNEL(squared_loss_grad_cpu)
}  // namespace tessera
#endif
