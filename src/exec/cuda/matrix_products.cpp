// SPDX-License-Identifier: Apache-2.0
// cuBLASLt counts by columns, we by rows: it is asked for C^T = B^T A^T, whose columns are our
// rows.
#include "exec/cuda/matrix_products.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "exec/cuda/fastest_candidate.h"
#include "exec/cuda/few_rows_product.h"
#include "exec/cuda/ragged_product.h"

namespace tessera {
namespace {

constexpr int kCandidates = 16;

cudaDataType_t data_type(DType dtype) {
  if (dtype == DType::Fp64) return CUDA_R_64F;
  return dtype == DType::Fp32 ? CUDA_R_32F : CUDA_R_16BF;
}

cudaDataType_t data_type(const DeviceMatrix& matrix, DType dtype) {
  if (!matrix.fp8) return data_type(dtype);
  return matrix.fp8 == Fp8::E4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
}

int32_t scale_mode(const DeviceMatrix& matrix) {
  return matrix.scaling == Fp8Scaling::Tiles ? CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F
                                             : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

// Bytes, a power of two up to 64 (that of planned buffers), that divide the address.
uint32_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return static_cast<uint32_t>(std::min<uintptr_t>(64, address & -address));
}

template <typename Value>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check_cublas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
               "describe a matmul");
}

// A matrix of `rows` x `columns` as we count; cuBLASLt sees its transpose.
cublasLtMatrixLayout_t layout(cudaDataType_t type, int64_t rows, int64_t columns, int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(columns),
                                          static_cast<uint64_t>(rows), stride),
               "describe a matrix");
  return made;
}

void lie_in_steps(cublasLtMatrixLayout_t matrix, int64_t batch, int64_t step) {
  const auto say = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
    check_cublas(cublasLtMatrixLayoutSetAttribute(matrix, attribute, &value, sizeof value),
                 "describe matrices of one shape");
  };
  say(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batch));
  say(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
}

// None where the library's is another function: its GELU is the one by tanh, to 5e-6; of a relu it
// keeps bits, not values.
std::optional<cublasLtEpilogue_t> epilogue_of(const DeviceProduct& p) {
  switch (p.activation) {
    case EpilogueActivation::None:
      return p.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case EpilogueActivation::Relu:
      if (p.before) return std::nullopt;
      return p.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case EpilogueActivation::GeluTanh:
      if (p.result_dtype != DType::Bf16) return std::nullopt;
      if (p.before) return p.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
      return p.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case EpilogueActivation::GeluTanhGrad:
      if (p.result_dtype != DType::Bf16) return std::nullopt;
      return CUBLASLT_EPILOGUE_DGELU;
    case EpilogueActivation::Gelu:
    case EpilogueActivation::GeluGrad:
      return std::nullopt;
  }
  return std::nullopt;
}

// What the product is added to, if anything.
const void* summand_of(const DeviceProduct& p) {
  TESSERA_CHECK(!p.accumulate || !p.addend);
  return p.addend ? p.addend : p.c;
}
bool adds(const DeviceProduct& p) { return p.accumulate || p.addend; }

// cuBLASLt's alpha and beta.
template <typename Scale>
struct Factors {
  Scale alpha, beta;
  explicit Factors(const DeviceProduct& p)
      : alpha(static_cast<Scale>(p.times)),
        beta(static_cast<Scale>(p.addend       ? p.addend_times
                                : p.accumulate ? 1
                                               : 0)) {}
};

std::string describe_machine() {
  cudaDeviceProp properties{};
  int device = 0;
  check_cuda(cudaGetDevice(&device), "ask for the GPU");
  check_cuda(cudaGetDeviceProperties(&properties, device), "ask what the GPU is");
  return fmt::format("{}, cuBLASLt {}", properties.name, cublasLtGetVersion());
}

// Up to kCandidates, the best guess first. Of the ways to cut k, those that add the parts in any
// order or in bf16 are left out.
class Candidates {
 public:
  Candidates(cublasLtHandle_t handle, const DeviceProduct& p, uint64_t workspace_bytes,
             cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t first,
             cublasLtMatrixLayout_t second, cublasLtMatrixLayout_t result) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "ask for an algorithm");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(
          cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
          "ask for an algorithm");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_bytes);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p.b.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p.a.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(summand_of(p)));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p.c));
    status_ = cublasLtMatmulAlgoGetHeuristic(handle, operation, first, second, result, result,
                                             preference, kCandidates, found_.data(), &count_);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status_ != CUBLAS_STATUS_SUCCESS) count_ = 0;
  }
  int count() const { return count_; }
  const cublasLtMatmulAlgo_t& operator[](int i) const {
    return found_[static_cast<size_t>(i)].algo;
  }

 private:
  std::array<cublasLtMatmulHeuristicResult_t, kCandidates> found_{};
  int count_ = 0;
  cublasStatus_t status_;
};

}  // namespace

bool is_recording(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), "ask whether a graph is recorded");
  return status != cudaStreamCaptureStatusNone;
}

MatrixProducts::MatrixProducts(AlgorithmFile algorithms)
    : algorithms_(std::move(algorithms)), machine_(describe_machine()) {
  check_cublas(cublasLtCreate(&handle_), "start cuBLASLt");
}

MatrixProducts::~MatrixProducts() {
  for (const auto& [key, each] : prepared_) {
    if (!each.operation) continue;
    cublasLtMatmulDescDestroy(each.operation);
    for (const auto matrix : {each.first, each.second, each.result})
      cublasLtMatrixLayoutDestroy(matrix);
  }
  cublasLtDestroy(handle_);
}

// All that the choice of an algorithm depends on.
std::string MatrixProducts::key_of(const DeviceProduct& p) const {
  const auto matrix = [](const DeviceMatrix& each) {
    static constexpr const char* kScaling[] = {"", " tiles", " blocks"};
    return fmt::format("{}{}@{}{}{}{}", each.stride, each.transposed ? "t" : "",
                       alignment_of(each.data), each.fp8 ? " " : "",
                       each.fp8 ? name(*each.fp8) : "",
                       kScaling[static_cast<size_t>(each.scaling)]);
  };
  const auto epilogue = epilogue_of(p);
  const auto addend = p.addend ? fmt::format("@{}", alignment_of(p.addend)) : std::string();
  return fmt::format("{}: {} x {} x {}, {} into {}, {} {} {}, beta {}{}, epilogue {}{}", machine_,
                     p.m, p.n, p.k, name(p.dtype), name(p.result_dtype), matrix(p.a), matrix(p.b),
                     matrix({p.c, p.c_stride}), adds(p) ? 1 : 0, addend,
                     epilogue ? static_cast<int>(*epilogue) : -1, p.fast_sums ? ", fast" : "") +
         (p.batch > 1 ? fmt::format(", {} at {} {} {}", p.batch, p.a_step, p.b_step, p.c_step)
                      : std::string());
}

void MatrixProducts::describe(const DeviceProduct& p, Prepared& made) const {
  const bool fp64 = p.dtype == DType::Fp64;
  check_cublas(
      cublasLtMatmulDescCreate(&made.operation, fp64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                               fp64 ? CUDA_R_64F : CUDA_R_32F),
      "describe a matmul");
  set(made.operation, CUBLASLT_MATMUL_DESC_TRANSA, p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(made.operation, CUBLASLT_MATMUL_DESC_TRANSB, p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  const auto operand = [&](const DeviceMatrix& matrix, int64_t rows, int64_t columns) {
    if (matrix.transposed) std::swap(rows, columns);
    return layout(data_type(matrix, p.dtype), rows, columns, matrix.stride);
  };
  made.first = operand(p.b, p.k, p.n);
  made.second = operand(p.a, p.m, p.k);
  made.result = layout(data_type(p.result_dtype), p.m, p.n, p.c_stride);
  if (p.batch > 1) {
    lie_in_steps(made.first, p.batch, p.b_step);
    lie_in_steps(made.second, p.batch, p.a_step);
    lie_in_steps(made.result, p.batch, p.c_step);
  }
  if (p.fast_sums) set(made.operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
  if (p.a.scaling != Fp8Scaling::Tensor) {
    set(made.operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, scale_mode(p.b));
    set(made.operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, scale_mode(p.a));
  }
  set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p).value());
  if (p.bias) set(made.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(p.result_dtype));
  if (p.before) {
    set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.c_stride);
    set(made.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, data_type(p.result_dtype));
  }
}

bool MatrixProducts::take_kept(const std::string& key, Prepared& made) const {
  const AlgorithmFile::Algorithm* kept = algorithms_.find(key);
  if (!kept) return false;
  std::copy(kept->begin(), kept->end(), made.algorithm.data);
  cublasLtMatmulHeuristicResult_t checked{};
  return cublasLtMatmulAlgoCheck(handle_, made.operation, made.first, made.second, made.result,
                                 made.result, &made.algorithm, &checked) == CUBLAS_STATUS_SUCCESS &&
         checked.workspaceSize <= static_cast<size_t>(kWorkspaceBytes);
}

// Measures on the product's own operands, which a run leaves as they are, but for what it adds to.
void MatrixProducts::choose(const DeviceProduct& p, const std::string& key, Prepared& made,
                            cudaStream_t stream) {
  made.possible = take_kept(key, made);
  if (made.possible) return;
  const Candidates candidates(handle_, p, kWorkspaceBytes, made.operation, made.first, made.second,
                              made.result);
  made.possible = candidates.count() > 0;
  if (!made.possible) return;
  made.algorithm = candidates[0];
  if (is_recording(stream)) return;
  DeviceProduct measured = p;
  std::optional<DeviceMemory> sum;
  if (p.accumulate) {
    try {
      sum.emplace(((p.batch - 1) * p.c_step + p.m * p.c_stride) * size_bytes(p.result_dtype));
    } catch (const UserError&) {  // a full GPU: the first guess is good
      return;
    }
    measured.c = sum->data();
  }
  const int best = fastest_candidate(candidates.count(), stream, [&](int i) {
    return multiply(measured, made, candidates[i], stream) == CUBLAS_STATUS_SUCCESS;
  });
  made.possible = best != kNoCandidate;
  if (!made.possible) return;
  made.algorithm = candidates[best];
  AlgorithmFile::Algorithm kept;
  std::copy_n(made.algorithm.data, kept.size(), kept.begin());
  try {
    algorithms_.add(key, kept);
  } catch (const std::exception& error) {
    fmt::print(stderr, "warning: another run may choose other algorithms: {}\n", error.what());
  }
}

MatrixProducts::Prepared& MatrixProducts::prepared(const DeviceProduct& p, cudaStream_t stream) {
  const std::string key = key_of(p);
  const auto [found, is_new] = prepared_.try_emplace(key);
  if (is_new && epilogue_of(p)) {
    describe(p, found->second);
    set_addresses(p, found->second);
    choose(p, key, found->second, stream);
  }
  return found->second;
}

// What differs between products of the same shape.
void MatrixProducts::set_addresses(const DeviceProduct& p, const Prepared& each) const {
  if (p.bias) set(each.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
  if (p.before) set(each.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.before);
  if (p.b.scale) set(each.operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.b.scale);
  if (p.a.scale) set(each.operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.a.scale);
}

cublasStatus_t MatrixProducts::multiply(const DeviceProduct& p, const Prepared& each,
                                        const cublasLtMatmulAlgo_t& algorithm,
                                        cudaStream_t stream) const {
  const Factors<float> narrow(p);
  const Factors<double> wide(p);
  const bool fp64 = p.dtype == DType::Fp64;
  set_addresses(p, each);
  return cublasLtMatmul(
      handle_, each.operation, fp64 ? static_cast<const void*>(&wide.alpha) : &narrow.alpha,
      p.b.data, each.first, p.a.data, each.second,
      fp64 ? static_cast<const void*>(&wide.beta) : &narrow.beta, summand_of(p), each.result, p.c,
      each.result, &algorithm, workspace_.data(), static_cast<size_t>(kWorkspaceBytes), stream);
}

bool MatrixProducts::try_enqueue(const DeviceProduct& p, cudaStream_t stream) {
  if (has_few_rows(p)) {
    enqueue_few_rows(p, stream);
    return true;
  }
  const Prepared& each = prepared(p, stream);
  if (each.possible) check_cublas(multiply(p, each, each.algorithm, stream), "enqueue a matmul");
  return each.possible;
}

void MatrixProducts::enqueue(const DeviceProduct& p, cudaStream_t stream) {
  if (const auto parts = split_ragged(p)) {
    for (const DeviceProduct& part : *parts) enqueue(part, stream);
    return;
  }
  if (!try_enqueue(p, stream))
    throw CudaError(fmt::format("cuBLASLt has no algorithm for {} x {} x {} of {} into {}", p.m,
                                p.n, p.k, name(p.dtype), name(p.result_dtype)));
}

}  // namespace tessera
