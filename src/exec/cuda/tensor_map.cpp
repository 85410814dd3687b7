// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/tensor_map.h"

#include <cuda_runtime_api.h>

#include "exec/cuda/cuda_error.h"

namespace tessera {
namespace {

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);

Encode find_encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                              cudaEnableDefault, &status),
             "find the encoder of tensor maps");
  return status == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(found) : nullptr;
}

int attribute_of_device(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check_cuda(cudaGetDevice(&device), "ask for the device");
  check_cuda(cudaDeviceGetAttribute(&value, attribute, device), "ask what the device is");
  return value;
}

constexpr int kBoxBytes = 128;  // of the innermost dim: as far as the swizzle goes

CUtensorMap encode_map(CUtensorMapDataType type, int element_bytes, const void* data,
                       const std::array<int64_t, 4>& sizes, const std::array<int, 3>& box_sizes) {
  static const Encode encode = find_encoder();
  constexpr int kDims = 4;
  cuuint64_t dims[kDims], strides[kDims - 1];
  cuuint32_t box[kDims], steps[kDims];
  auto bytes = static_cast<cuuint64_t>(element_bytes);
  for (int i = 0; i < kDims; ++i) {
    dims[i] = static_cast<cuuint64_t>(sizes[static_cast<size_t>(i)]);
    box[i] = static_cast<cuuint32_t>(i == 0 ? kBoxBytes / element_bytes
                                            : box_sizes[static_cast<size_t>(i - 1)]);
    steps[i] = 1;
    bytes *= dims[i];
    if (i < kDims - 1) strides[i] = bytes;
  }
  CUtensorMap map;
  const CUresult status =
      encode ? encode(&map, type, kDims, const_cast<void*>(data), dims, strides, box, steps,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
             : CUDA_ERROR_NOT_SUPPORTED;
  if (status != CUDA_SUCCESS) throw CudaError("make a tensor map: the driver refuses it");
  return map;
}

}  // namespace

CUtensorMap make_tensor_map(const void* data, const std::array<int64_t, 4>& sizes,
                            const std::array<int, 3>& box) {
  return encode_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, sizes, box);
}

CUtensorMap make_byte_tensor_map(const void* data, const std::array<int64_t, 4>& sizes, int rows) {
  return encode_map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, data, sizes, {rows, 1, 1});
}

CUtensorMap make_tensor_map(const void* data, const std::array<int64_t, 4>& sizes, int row_dim,
                            int rows) {
  std::array<int, 3> box{1, 1, 1};
  box.at(static_cast<size_t>(row_dim - 1)) = rows;
  return make_tensor_map(data, sizes, box);
}

bool is_hopper() {
  return attribute_of_device(cudaDevAttrComputeCapabilityMajor) == 9 &&
         attribute_of_device(cudaDevAttrComputeCapabilityMinor) == 0;
}
int multiprocessors() { return attribute_of_device(cudaDevAttrMultiProcessorCount); }

}  // namespace tessera
