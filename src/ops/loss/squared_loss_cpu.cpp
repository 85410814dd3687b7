// SPDX-License-Identifier: Apache-2.0
#include "ops/loss/squared_loss_cpu.h"

namespace tessera {
namespace {

template <typename T>
TESSERA_SIMD double loss_of_piece(const T* prediction, const T* target, int64_t count) {
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

}  // namespace tessera
