// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt. The algorithm of a product is measured once and kept in a file, so
// that later steps and runs allocate nothing, measure nothing and repeat its bits.
#pragma once

#include <map>
#include <string>

#include "core/dtype.h"
#include "core/narrow_floats.h"
#include "exec/cuda/algorithm_file.h"
#include "exec/cuda/device_memory.h"
#include "ops/fp8/fp8_scaling.h"
#include "ops/matmul/epilogue_activation.h"

namespace tessera {

// Element (i, j) lies at data[i * stride + j], or at data[j * stride + i] when transposed.
struct DeviceMatrix {
  const void* data;
  int64_t stride;
  bool transposed = false;
  std::optional<Fp8> fp8 = {};   // instead of the product's dtype
  const float* scale = nullptr;  // in GPU memory, with fp8: what a stored one stands for
  Fp8Scaling scaling = Fp8Scaling::Tensor;
};

// C[m, n] = A[m, k] B[k, n], or C += A B; a and b are of one dtype, sums of bf16 are kept in fp32.
// Operands of fp8 lie in rows of k (b is transposed), in sizes that 16 divides, not both e5m2.
// With an epilogue C = activation(A B + bias), addend + A B + bias, or A B times a slope. `times`
// multiplies A B before all that, `addend_times` the addend.
struct DeviceProduct {
  int64_t m, n, k;
  DType dtype, result_dtype;
  DeviceMatrix a, b;
  void* c;
  int64_t c_stride;
  bool accumulate = false;
  const void* bias = nullptr;  // [n], of result_dtype
  EpilogueActivation activation = EpilogueActivation::None;
  void* before = nullptr;        // as c: gets what the activation is applied to; read for a slope
  const void* addend = nullptr;  // as c, elsewhere; c is then not added to
  bool fast_sums = false;        // of fp8: in about 14 bits on the way
  double times = 1, addend_times = 1;
  // As many products of one shape at once; elements from a matrix to the next one of A, B and C.
  int64_t batch = 1, a_step = 0, b_step = 0, c_step = 0;
};

bool is_recording(cudaStream_t stream);  // a graph

class MatrixProducts {
 public:
  static constexpr int64_t kWorkspaceBytes = 32 << 20;

  explicit MatrixProducts(AlgorithmFile algorithms = shared_algorithm_file());
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  // While the stream records a graph nothing can be measured: a product that was not enqueued
  // before then gets the library's first guess.
  void enqueue(const DeviceProduct& product, cudaStream_t stream);
  // Enqueues nothing where the library has no such epilogue for the product.
  [[nodiscard]] bool try_enqueue(const DeviceProduct& product, cudaStream_t stream);
  int64_t workspace_bytes() const { return workspace_.bytes(); }

  // Where choices are kept, also those of others, and what they hold for.
  AlgorithmFile& algorithms() { return algorithms_; }
  const std::string& machine() const { return machine_; }

 private:
  struct Prepared {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
    cublasLtMatmulAlgo_t algorithm = {};
    bool possible = false;
  };
  std::string key_of(const DeviceProduct& product) const;
  Prepared& prepared(const DeviceProduct& product, cudaStream_t stream);
  void describe(const DeviceProduct& product, Prepared& made) const;
  void choose(const DeviceProduct& product, const std::string& key, Prepared& made,
              cudaStream_t stream);
  bool take_kept(const std::string& key, Prepared& made) const;
  void set_addresses(const DeviceProduct& product, const Prepared& each) const;
  cublasStatus_t multiply(const DeviceProduct& product, const Prepared& each,
                          const cublasLtMatmulAlgo_t& algorithm, cudaStream_t stream) const;

  cublasLtHandle_t handle_ = nullptr;
  DeviceMemory workspace_{kWorkspaceBytes};
  AlgorithmFile algorithms_;
  std::string machine_;  // GPU and version of the library: what was measured holds for these
  std::map<std::string, Prepared> prepared_;
};

}  // namespace tessera
