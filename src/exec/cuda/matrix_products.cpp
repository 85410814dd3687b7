// SPDX-License-Identifier: Apache-2.0
// cuBLASLt counts by columns, we by rows: it is asked for C^T = B^T A^T, whose columns are our
// rows.
#include "exec/cuda/matrix_products.h"

#include <algorithm>

namespace tessera {
namespace {

cudaDataType_t data_type(DType dtype) {
  if (dtype == DType::Fp64) return CUDA_R_64F;
  return dtype == DType::Fp32 ? CUDA_R_32F : CUDA_R_16BF;
}

// Bytes, a power of two up to 256, that divide the address.
uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return static_cast<uint32_t>(std::min<uintptr_t>(256, address & -address));
}

void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
         bool transposed) {
  const cublasOperation_t value = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  check_cublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
               "describe a matmul");
}

// A matrix of `rows` x `columns` as we count; cuBLASLt sees its transpose.
cublasLtMatrixLayout_t layout(DType dtype, int64_t rows, int64_t columns, int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&made, data_type(dtype), static_cast<uint64_t>(columns),
                                          static_cast<uint64_t>(rows), stride),
               "describe a matrix");
  return made;
}

}  // namespace

MatrixProducts::MatrixProducts() { check_cublas(cublasLtCreate(&handle_), "start cuBLASLt"); }

MatrixProducts::~MatrixProducts() {
  for (const auto& [key, each] : prepared_) {
    cublasLtMatmulDescDestroy(each.operation);
    for (const auto matrix : {each.first, each.second, each.result})
      cublasLtMatrixLayoutDestroy(matrix);
  }
  cublasLtDestroy(handle_);
}

MatrixProducts::Prepared MatrixProducts::prepare(const DeviceProduct& p) const {
  const bool fp64 = p.dtype == DType::Fp64;
  Prepared made;
  check_cublas(
      cublasLtMatmulDescCreate(&made.operation, fp64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                               fp64 ? CUDA_R_64F : CUDA_R_32F),
      "describe a matmul");
  set(made.operation, CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed);
  set(made.operation, CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed);
  made.first = p.b.transposed ? layout(p.dtype, p.n, p.k, p.b.stride)
                              : layout(p.dtype, p.k, p.n, p.b.stride);
  made.second = p.a.transposed ? layout(p.dtype, p.k, p.m, p.a.stride)
                               : layout(p.dtype, p.m, p.k, p.a.stride);
  made.result = layout(p.result_dtype, p.m, p.n, p.c_stride);

  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublasLtMatmulPreferenceCreate(&preference), "ask for an algorithm");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                 "ask for an algorithm");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b.data));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a.data));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(p.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c));
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, made.operation, made.first, made.second, made.result,
                                     made.result, preference, 1, &found, &count);
  cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    throw CudaError(fmt::format("cuBLASLt has no algorithm for {} x {} x {} of {} into {}: {}", p.m,
                                p.n, p.k, name(p.dtype), name(p.result_dtype),
                                cublasLtGetStatusString(status)));
  made.algorithm = found.algo;
  return made;
}

void MatrixProducts::enqueue(const DeviceProduct& p, cudaStream_t stream) {
  const Key key{p.m,
                p.n,
                p.k,
                p.dtype,
                p.result_dtype,
                p.a.stride,
                p.b.stride,
                p.c_stride,
                p.a.transposed,
                p.b.transposed,
                p.accumulate,
                alignment_of(p.a.data),
                alignment_of(p.b.data),
                alignment_of(p.c)};
  auto found = prepared_.find(key);
  if (found == prepared_.end()) found = prepared_.emplace(key, prepare(p)).first;
  const Prepared& each = found->second;
  const float one = 1, beta = p.accumulate ? 1.0f : 0.0f;
  const double one64 = 1, beta64 = p.accumulate ? 1.0 : 0.0;
  const bool fp64 = p.dtype == DType::Fp64;
  check_cublas(
      cublasLtMatmul(handle_, each.operation, fp64 ? static_cast<const void*>(&one64) : &one,
                     p.b.data, each.first, p.a.data, each.second,
                     fp64 ? static_cast<const void*>(&beta64) : &beta, p.c, each.result, p.c,
                     each.result, &each.algorithm, workspace_.data(),
                     static_cast<size_t>(kWorkspaceBytes), stream),
      "enqueue a matmul");
}

}  // namespace tessera
