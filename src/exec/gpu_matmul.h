// SPDX-License-Identifier: Apache-2.0
// How long the GPU takes for matrix products, each by the algorithm that was measured to be its
// fastest. Builds without CUDA say that they have none.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/precision.h"
#include "exec/matmul_shape.h"

namespace tessera {

struct GpuMatmul {
  MatmulShape shape;
  DType dtype = DType::Bf16;
  bool fp8 = false;  // e4m3 times e4m3 into bf16, both in rows of k whatever the shape says
};

// Of one product each: the best of some rounds. Weight gradients of bf16 (a transposed) are fp32.
std::vector<double> gpu_matmul_seconds(std::span<const GpuMatmul> matmuls);

// Flops per second of large square matmuls in that precision, in 8 bits where it is fp8: the peak
// that MFU is measured against when none is given.
double measure_cuda_matmul_rate(Precision precision);

// What to say of a run in that dtype: fp32 has no tensor cores. Measured; else empty.
std::string slow_dtype_warning(DType dtype);

}  // namespace tessera
