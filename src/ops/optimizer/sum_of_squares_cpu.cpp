// SPDX-License-Identifier: Apache-2.0
// Pieces are summed in double whatever the dtype, then added in order.
#define HWY_TARGET_INCLUDE "ops/optimizer/sum_of_squares_cpu.cpp"
#include "exec/cpu/each_target.h"
#include "ops/fixed_order_sums_cpu.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

struct Square {
  template <typename V>
  TESSERA_INLINE V operator()(const V& x) const {
    return x * x;
  }
};

template <typename T>
double squares_of_piece(const T* x, int64_t count) {
  return sum_terms<double>(count, Square{}, x);
}

}  // namespace

void sum_of_squares_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  double& result = *call.result(0).as<double>();
  dispatch_float(type.dtype, [&]<typename T>() {
    const T* x = call.operand(0).as<T>();
    const double sum = sum_pieces(call, type.num_elements(), [&](int64_t begin, int64_t end) {
      return squares_of_piece(x + begin, end - begin);
    });
    result = (call.accumulates(0) ? result : 0.0) + call.attributes.real("scale") * sum;
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(sum_of_squares_cpu)
}  // namespace tessera
#endif
