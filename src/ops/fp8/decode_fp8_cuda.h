// SPDX-License-Identifier: Apache-2.0
// What scaled bytes stand for, in a dtype that plain kernels read.
#pragma once

#include "core/narrow_floats.h"
#include "exec/cuda/kernel_launch.h"
#include "ops/fp8/fp8_scaling.h"

namespace tessera {

template <typename T>
__global__ void decode_fp8_kernel(const uint8_t* bytes, Fp8 format, const float* scales,
                                  Fp8ScaleIndex index, int64_t count, T* decoded) {
  for (int64_t i = first_index(); i < count; i += index_stride()) {
    const int64_t row = i / index.k;
    const float scale =
        scales[row / index.rows * index.step() + index(row % index.rows, i % index.k)];
    decoded[i] = narrow<T>(static_cast<Accumulator<T>>(fp8_value(bytes[i], format) * scale));
  }
}

// `bytes` holds [matrices, rows, k].
template <typename T>
void decode_fp8(const CudaCall& call, const TensorRef& bytes, const TensorRef& scale,
                int64_t matrices, int64_t rows, int64_t k, T* decoded) {
  const int64_t count = matrices * rows * k;
  launch(call, grid_for(count), decode_fp8_kernel<T>, reinterpret_cast<const uint8_t*>(bytes.data),
         *fp8_from_dtype(bytes.type->dtype), static_cast<const float*>(scale.as<float>()),
         Fp8ScaleIndex{fp8_scaling_of(*scale.type), rows, k}, count, decoded);
}

}  // namespace tessera
