// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt. The algorithm of a shape is asked for once and kept, so that later
// steps allocate nothing and repeat its bits.
#pragma once

#include <map>
#include <tuple>

#include "core/dtype.h"
#include "exec/cuda/device_memory.h"

namespace tessera {

// Element (i, j) lies at data[i * stride + j], or at data[j * stride + i] when transposed.
struct DeviceMatrix {
  const void* data;
  int64_t stride;
  bool transposed = false;
};

// C[m, n] = A[m, k] B[k, n], or C += A B; a and b are of one dtype, sums of bf16 are kept in fp32.
struct DeviceProduct {
  int64_t m, n, k;
  DType dtype, result_dtype;
  DeviceMatrix a, b;
  void* c;
  int64_t c_stride;
  bool accumulate = false;
};

class MatrixProducts {
 public:
  MatrixProducts();
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  void enqueue(const DeviceProduct& product, cudaStream_t stream);
  int64_t workspace_bytes() const { return workspace_.bytes(); }

 private:
  static constexpr int64_t kWorkspaceBytes = 32 << 20;
  // Sizes, dtypes, strides, transpositions, accumulation and alignments.
  using Key = std::tuple<int64_t, int64_t, int64_t, DType, DType, int64_t, int64_t, int64_t, bool,
                         bool, bool, uint32_t, uint32_t, uint32_t>;
  struct Prepared {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
    cublasLtMatmulAlgo_t algorithm = {};
  };
  Prepared prepare(const DeviceProduct& product) const;

  cublasLtHandle_t handle_ = nullptr;
  DeviceMemory workspace_{kWorkspaceBytes};
  std::map<Key, Prepared> prepared_;
};

}  // namespace tessera
