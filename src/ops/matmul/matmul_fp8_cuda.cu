// SPDX-License-Identifier: Apache-2.0
// By cuBLASLt, bytes and scales as they are; where it has no such product, as on the CPU, the
// matmul of decoded operands.
#include "exec/cuda/matrix_products.h"
#include "ops/fp8/decode_fp8_cuda.h"
#include "ops/matmul/fp8_product.h"

namespace tessera {
namespace {

template <typename T>
__global__ void add_to_kernel(const T* x, int64_t count, T* y) {
  for (int64_t i = first_index(); i < count; i += index_stride())
    y[i] = narrow<T>(widen(y[i]) + widen(x[i]));
}

struct Operand {
  TensorRef bytes, scale;
  int64_t rows, k;

  Fp8 format() const { return *fp8_from_dtype(bytes.type->dtype); }
  Fp8Scaling scaling() const { return fp8_scaling_of(*scale.type); }
  DeviceMatrix as_it_is() const {
    return {.data = bytes.data,
            .stride = k,
            .fp8 = format(),
            .scale = scale.as<float>(),
            .scaling = scaling()};
  }
};

DeviceMatrix decoded(const CudaCall& call, const Operand& operand, DType dtype, std::byte* to) {
  dispatch_float(dtype, [&]<typename T>() {
    decode_fp8(call, operand.bytes, operand.scale, 1, operand.rows, operand.k,
               reinterpret_cast<T*>(to));
  });
  return {.data = to, .stride = operand.k};
}

}  // namespace

void matmul_fp8_cuda(const CudaCall& call) {
  const TensorRef result = call.result(0);
  const Fp8Operands types{*call.operand(0).type, *call.operand(1).type, *call.operand(2).type,
                          *call.operand(3).type, *result.type};
  const Contraction c = contraction_of(types.x, types.w);
  const Operand x{call.operand(0), call.operand(2), c.m, c.k};
  const Operand w{call.operand(1), call.operand(3), c.n, c.k};
  const DType dtype = decoded_dtype(result.type->dtype);
  DeviceProduct product{.m = c.m,
                        .n = c.n,
                        .k = c.k,
                        .dtype = dtype,
                        .result_dtype = result.type->dtype,
                        .a = x.as_it_is(),
                        .b = w.as_it_is(),
                        .c = result.data,
                        .c_stride = c.n,
                        .accumulate = call.accumulates(0),
                        .addend = call.operand(4).data,
                        .fast_sums = call.attributes.integer("fast") != 0};
  product.b.transposed = true;
  if (product.accumulate && product.addend) {  // cuBLASLt adds one of them
    dispatch_float(result.type->dtype, [&]<typename T>() {
      const int64_t count = result.type->num_elements();
      launch(call, grid_for(count), add_to_kernel<T>,
             static_cast<const T*>(call.operand(4).as<T>()), count, result.as<T>());
    });
    product.addend = nullptr;
  }
  if (multiplies_in_fp8(types) && call.products.try_enqueue(product, call.stream)) return;
  product.fast_sums = false;
  const Fp8Workspace places(types);
  product.a = decoded(call, x, dtype, call.workspace.data() + places.x);
  product.b = decoded(call, w, dtype, call.workspace.data() + places.w);
  product.b.transposed = true;
  call.products.enqueue(product, call.stream);
}

}  // namespace tessera
