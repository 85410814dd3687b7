// SPDX-License-Identifier: Apache-2.0
// Bias, activation, its gradient and addend are fused into the matmul if cuBLASLt supports them;
// otherwise they are a separate pass, in which each step is rounded to the dtype as if it were an
// op.
#include "exec/cuda/kernel_launch.h"
#include "ops/elementwise/activations_cuda.h"
#include "ops/elementwise/pointwise_cuda.h"
#include "ops/matmul/product_cuda.h"

namespace tessera {
namespace {

// pre += bias; y = activation(pre), or addend + pre. `pre` may be `y` itself.
template <typename Activation, typename T>
__global__ void epilogue_kernel(T* pre, const T* bias, const T* addend, T* y, int64_t count,
                                int64_t cols) {
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    T value = pre[i];
    if (bias) {
      value = narrow<T>(widen(value) + widen(bias[i % cols]));
      pre[i] = value;
    }
    value = narrow<T>(Activation::value(widen(value)));
    y[i] = addend ? narrow<T>(widen(addend[i]) + widen(value)) : value;
  }
}

template <typename Activation>
void finish(const CudaCall& call, const TensorRef& pre, int64_t cols) {
  const TensorRef y = call.result(0), bias = call.operand(2), addend = call.operand(3);
  const int64_t count = y.type->num_elements();
  dispatch_float(y.type->dtype, [&]<typename T>() {
    launch(call, grid_for(count), epilogue_kernel<Activation, T>, pre.as<T>(),
           static_cast<const T*>(bias ? bias.as<T>() : nullptr),
           static_cast<const T*>(addend ? addend.as<T>() : nullptr), y.as<T>(), count, cols);
  });
}

template <typename Activation>
void finish_gradient(const CudaCall& call) {
  const TensorRef y = call.result(0), pre = call.operand(2);
  dispatch_float(y.type->dtype, [&]<typename T>() {
    launch_pointwise<true, false>(
        call, DeviceTimesSlope<Activation>{}, static_cast<const T*>(pre.as<T>()),
        static_cast<const T*>(y.as<T>()), y.as<T>(), y.type->num_elements());
  });
}

bool enqueue_as_one(const CudaCall& call, EpilogueActivation activation) {
  DeviceProduct product = product_of(call, call.result(0));
  const bool gradient = is_gradient(activation);
  if (!gradient) product.bias = call.operand(2).data;
  product.activation = activation;
  product.before = gradient ? call.operand(2).data : call.result(1).data;
  product.addend = call.operand(3).data;
  return call.products.try_enqueue(product, call.stream);
}

}  // namespace

void matmul_epilogue_cuda(const CudaCall& call) {
  const auto activation = find_activation(call.attributes.word("activation")).value();
  if (enqueue_as_one(call, activation)) return;
  const TensorRef pre = call.result(1) ? call.result(1) : call.result(0);
  const DeviceProduct product = product_of(call, pre);
  call.products.enqueue(product, call.stream);
  switch (activation) {
    case EpilogueActivation::None:
      return finish<DeviceIdentity>(call, pre, product.n);
    case EpilogueActivation::Relu:
      return finish<DeviceRelu>(call, pre, product.n);
    case EpilogueActivation::Gelu:
      return finish<DeviceGeluExact>(call, pre, product.n);
    case EpilogueActivation::GeluTanh:
      return finish<DeviceGeluTanh>(call, pre, product.n);
    case EpilogueActivation::GeluGrad:
      return finish_gradient<DeviceGeluExact>(call);
    case EpilogueActivation::GeluTanhGrad:
      return finish_gradient<DeviceGeluTanh>(call);
  }
}

}  // namespace tessera
