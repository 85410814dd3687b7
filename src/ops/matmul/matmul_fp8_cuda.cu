// SPDX-License-Identifier: Apache-2.0
// In bf16 and sizes that 16 divides: operands as bytes in rows of k, which is how tensor cores take
// them, and their scales in GPU memory. Else, as on the CPU, the product of what rounding leaves.
#include <cuda_fp8.h>

#include "exec/cuda/kernel_launch.h"
#include "ops/matmul/fp8_operands.h"
#include "ops/matmul/product_cuda.h"

namespace tessera {
namespace {

// The bits of the largest |x|: of numbers without a sign they are in the numbers' order, so that an
// atomic maximum gives the same in whatever order blocks come.
template <typename T>
__global__ void largest_kernel(const T* x, int64_t count, uint32_t* largest) {
  float own = 0;
  const int64_t packs = count / Pack<T>::kSize;
  const auto* packed = reinterpret_cast<const Pack<T>*>(x);
  for (int64_t i = first_index(); i < packs; i += index_stride()) {
    const Pack<T> pack = packed[i];
    for (int j = 0; j < Pack<T>::kSize; ++j)
      own = fmaxf(own, fabsf(static_cast<float>(widen(pack.values[j]))));
  }
  for (int64_t i = packs * Pack<T>::kSize + first_index(); i < count; i += index_stride())
    own = fmaxf(own, fabsf(static_cast<float>(widen(x[i]))));
  own = block_max(own, 0.0f);
  if (threadIdx.x == 0) atomicMax(largest, __float_as_uint(own));
}

template <typename T>
__global__ void round_kernel(const T* x, int64_t count, const uint32_t* largest, Fp8 format, T* y) {
  const int exponent = fp8_exponent(__uint_as_float(*largest), format);
  for (int64_t i = first_index(); i < count; i += index_stride())
    y[i] = narrow<T>(static_cast<Accumulator<T>>(
        through_fp8(static_cast<float>(widen(x[i])), exponent, format)));
}

template <Fp8 kFormat>
__device__ inline uint8_t byte_of(float x) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, kFormat == Fp8::E4m3 ? __NV_E4M3 : __NV_E5M2);
}

struct alignas(16) Bytes16 {
  uint8_t values[16];
};

// What a byte stands for is its number times `scale`.
template <Fp8 kFormat>
__device__ inline float scaling(const uint32_t* largest, float* scale) {
  const int exponent = fp8_exponent(__uint_as_float(*largest), kFormat);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *scale = power_of_two(-exponent);
  return power_of_two(exponent);
}

template <Fp8 kFormat>
__global__ void bytes_kernel(const Bf16* x, int64_t count, const uint32_t* largest, float* scale,
                             uint8_t* y) {
  const float by = scaling<kFormat>(largest, scale);
  const auto* packed = reinterpret_cast<const Pack<Bf16>*>(x);
  for (int64_t i = first_index(); i < count / 16; i += index_stride()) {
    Bytes16 bytes;
    for (int half = 0; half < 2; ++half) {
      const Pack<Bf16> pack = packed[2 * i + half];
      for (int j = 0; j < 8; ++j)
        bytes.values[8 * half + j] = byte_of<kFormat>(widen(pack.values[j]) * by);
    }
    reinterpret_cast<Bytes16*>(y)[i] = bytes;
  }
}

constexpr int kTile = 64, kTileThreads = 256;

// y[columns, rows] from x[rows, columns], both multiples of 16.
template <Fp8 kFormat>
__global__ void turned_bytes_kernel(const Bf16* x, int64_t rows, int64_t columns,
                                    const uint32_t* largest, float* scale, uint8_t* y) {
  __shared__ uint8_t tile[kTile][kTile + 4];  // [column][row]
  const float by = scaling<kFormat>(largest, scale);
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kTile;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kTile;
  for (int i = threadIdx.x; i < kTile * kTile / 8; i += kTileThreads) {
    const int row = i / (kTile / 8), column = i % (kTile / 8) * 8;
    if (first_row + row >= rows || first_column + column >= columns) continue;
    const auto pack = *reinterpret_cast<const Pack<Bf16>*>(x + (first_row + row) * columns +
                                                           first_column + column);
    for (int j = 0; j < 8; ++j)
      tile[column + j][row] = byte_of<kFormat>(widen(pack.values[j]) * by);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kTile / 16; i += kTileThreads) {
    const int column = i / (kTile / 16), row = i % (kTile / 16) * 16;
    if (first_row + row >= rows || first_column + column >= columns) continue;
    Bytes16 bytes;
    for (int j = 0; j < 16; ++j) bytes.values[j] = tile[column][row + j];
    *reinterpret_cast<Bytes16*>(y + (first_column + column) * rows + first_row + row) = bytes;
  }
}

struct Operand {
  const TensorRef& tensor;
  Fp8 format;
  uint32_t* largest;
};

void find_largest(const CudaCall& call, const Operand& operand) {
  check_cuda(cudaMemsetAsync(operand.largest, 0, sizeof(uint32_t), call.stream),
             "clear the largest entry");
  dispatch_float(operand.tensor.type->dtype, [&]<typename T>() {
    const int64_t count = operand.tensor.type->num_elements();
    launch(call, grid_for((count + Pack<T>::kSize - 1) / Pack<T>::kSize), largest_kernel<T>,
           static_cast<const T*>(operand.tensor.as<T>()), count, operand.largest);
  });
}

template <Fp8 kFormat>
void write_bytes(const CudaCall& call, const Operand& operand, int64_t rows, bool turned,
                 float* scale, uint8_t* to) {
  const Bf16* x = operand.tensor.as<Bf16>();
  const int64_t count = operand.tensor.type->num_elements(), columns = count / rows;
  if (turned)
    launch(call,
           {.blocks = dim3(blocks_for(columns, kTile), blocks_for(rows, kTile)),
            .threads = kTileThreads},
           turned_bytes_kernel<kFormat>, x, rows, columns,
           static_cast<const uint32_t*>(operand.largest), scale, to);
  else
    launch(call, grid_for(count / 16), bytes_kernel<kFormat>, x, count,
           static_cast<const uint32_t*>(operand.largest), scale, to);
}

// The operand as bytes in rows of k. `rows` are those that it has in memory.
DeviceMatrix as_bytes(const CudaCall& call, const Operand& operand, int64_t rows, bool turned,
                      int64_t k, float* scale, uint8_t* to) {
  find_largest(call, operand);
  if (operand.format == Fp8::E4m3)
    write_bytes<Fp8::E4m3>(call, operand, rows, turned, scale, to);
  else
    write_bytes<Fp8::E5m2>(call, operand, rows, turned, scale, to);
  return {.data = to, .stride = k, .fp8 = operand.format, .scale = scale};
}

DeviceMatrix as_rounded(const CudaCall& call, const Operand& operand, const DeviceMatrix& before,
                        std::byte* to) {
  find_largest(call, operand);
  dispatch_float(operand.tensor.type->dtype, [&]<typename T>() {
    const int64_t count = operand.tensor.type->num_elements();
    launch(call, grid_for(count), round_kernel<T>, static_cast<const T*>(operand.tensor.as<T>()),
           count, static_cast<const uint32_t*>(operand.largest), operand.format,
           reinterpret_cast<T*>(to));
  });
  return {.data = to, .stride = before.stride, .transposed = before.transposed};
}

}  // namespace

void matmul_fp8_cuda(const CudaCall& call) {
  const TensorRef x = call.operand(0), w = call.operand(1);
  const Contraction c = contraction_of(*x.type, *w.type);
  const Fp8Workspace places(*x.type, *w.type);
  std::byte* const begin = call.workspace.data();
  // cuBLASLt wants scales on 16 bytes.
  constexpr int kNote = 4;
  auto* largest = reinterpret_cast<uint32_t*>(begin + places.bytes);
  auto* scales = reinterpret_cast<float*>(largest + 2 * kNote);
  const Operand x_operand{x, *fp8_from_name(call.attributes.word("x_format")), largest};
  const Operand w_operand{w, *fp8_from_name(call.attributes.word("w_format")), largest + kNote};
  DeviceProduct product = product_of(call, call.result(0));
  if (x.type->dtype == DType::Bf16 && c.m % 16 == 0 && c.n % 16 == 0 && c.k % 16 == 0) {
    product.a = as_bytes(call, x_operand, c.x_outermost ? c.k : c.m, c.x_outermost, c.k, scales,
                         reinterpret_cast<uint8_t*>(begin + places.x));
    product.b = as_bytes(call, w_operand, c.w_outermost ? c.k : c.n, c.w_outermost, c.k,
                         scales + kNote, reinterpret_cast<uint8_t*>(begin + places.w));
    product.b.transposed = true;
  } else {
    product.a = as_rounded(call, x_operand, product.a, begin + places.x);
    product.b = as_rounded(call, w_operand, product.b, begin + places.w);
  }
  call.products.enqueue(product, call.stream);
}

}  // namespace tessera
