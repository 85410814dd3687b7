// SPDX-License-Identifier: Apache-2.0
// In bf16 and for sizes divisible by 16: operands as bytes in rows of k, as tensor cores need them,
// and their scales in GPU memory. Otherwise, as on the CPU, the matmul of the rounded operands.
#include <cuda_fp8.h>

#include "ops/largest_entry_cuda.h"
#include "ops/matmul/fp8_operands.h"
#include "ops/matmul/product_cuda.h"

namespace tessera {
namespace {

template <typename T>
__global__ void round_kernel(const T* x, int64_t count, const float* largest, Fp8 format, T* y) {
  const int exponent = fp8_exponent(*largest, format);
  for (int64_t i = first_index(); i < count; i += index_stride())
    y[i] = narrow<T>(static_cast<Accumulator<T>>(
        through_fp8(static_cast<float>(widen(x[i])), exponent, format)));
}

// What a byte stands for is its number times `scale`.
template <Fp8 kFormat>
__device__ inline float scaling(const float* largest, float* scale) {
  const int exponent = fp8_exponent(*largest, kFormat);
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *scale = power_of_two(-exponent);
  return power_of_two(exponent);
}

// Four elements, the first in the lowest byte.
template <Fp8 kFormat>
__device__ inline uint32_t four_bytes(const Bf16* x, float by) {
  constexpr auto kKind = kFormat == Fp8::E4m3 ? __NV_E4M3 : __NV_E5M2;
  const auto two = [&](int i) -> uint32_t {
    return __nv_cvt_float2_to_fp8x2(make_float2(widen(x[i]) * by, widen(x[i + 1]) * by),
                                    __NV_SATFINITE, kKind);
  };
  return two(0) | two(2) << 16;
}

template <Fp8 kFormat>
__global__ void __launch_bounds__(kThreads)
    bytes_kernel(const Bf16* x, int64_t count, const float* largest, float* scale, uint8_t* y) {
  const float by = scaling<kFormat>(largest, scale);
  const int64_t i = first_index();
  if (i >= count / 16) return;
  const Pack<Bf16> first = load_elements<8>(x + 16 * i), second = load_elements<8>(x + 16 * i + 8);
  reinterpret_cast<uint4*>(y)[i] = {
      four_bytes<kFormat>(first.values, by), four_bytes<kFormat>(first.values + 4, by),
      four_bytes<kFormat>(second.values, by), four_bytes<kFormat>(second.values + 4, by)};
}

// rows[i] has four bytes of row i; then those of column i.
__device__ inline void turn_four_by_four(uint32_t (&rows)[4]) {
  const uint32_t a = __byte_perm(rows[0], rows[1], 0x5140),
                 b = __byte_perm(rows[2], rows[3], 0x5140);
  const uint32_t c = __byte_perm(rows[0], rows[1], 0x7362),
                 d = __byte_perm(rows[2], rows[3], 0x7362);
  rows[0] = __byte_perm(a, b, 0x5410);
  rows[1] = __byte_perm(a, b, 0x7632);
  rows[2] = __byte_perm(c, d, 0x5410);
  rows[3] = __byte_perm(c, d, 0x7632);
}

constexpr int kTileRows = 128, kTileColumns = 64;  // 128 bytes of x, and of y

// y[columns, rows] from x[rows, columns], both multiples of 16. A thread turns four rows of eight
// columns in its registers.
template <Fp8 kFormat>
__global__ void __launch_bounds__(kThreads)
    turned_bytes_kernel(const Bf16* x, int64_t rows, int64_t columns, const float* largest,
                        float* scale, uint8_t* y) {
  __shared__ uint32_t tile[kTileColumns][kTileRows / 4 + 1];  // [column][row / 4]
  const float by = scaling<kFormat>(largest, scale);
  const int64_t first_row = static_cast<int64_t>(blockIdx.y) * kTileRows;
  const int64_t first_column = static_cast<int64_t>(blockIdx.x) * kTileColumns;
  const int four = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
  if (first_row + 4 * four < rows && first_column + column < columns) {
    const Bf16* from = x + (first_row + 4 * four) * columns + first_column + column;
    Pack<Bf16> packs[4];
    for (int r = 0; r < 4; ++r) packs[r] = load_elements<8>(from + r * columns);
    for (const int half : {0, 4}) {
      uint32_t words[4];
      for (int r = 0; r < 4; ++r) words[r] = four_bytes<kFormat>(packs[r].values + half, by);
      turn_four_by_four(words);
      for (int j = 0; j < 4; ++j) tile[column + half + j][four] = words[j];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTileColumns * kTileRows / 16; i += kThreads) {
    const int c = i / (kTileRows / 16), r = i % (kTileRows / 16);
    if (first_row + 16 * r >= rows || first_column + c >= columns) continue;
    const uint32_t* words = &tile[c][4 * r];
    *reinterpret_cast<uint4*>(y + (first_column + c) * rows + first_row + 16 * r) = {
        words[0], words[1], words[2], words[3]};
  }
}

struct Operand {
  TensorRef tensor, largest;
  Fp8 format;
};

Operand operand_of(const CudaCall& call, size_t i, const char* format) {
  const LargestEntryPlace entry = place_of_largest_entry(call.attributes, i);
  const TensorRef largest = entry.known ? call.operand(entry.place) : call.result(entry.place);
  if (!entry.known) find_largest_entry(call, call.operand(i), largest);
  return {call.operand(i), largest, *fp8_from_name(call.attributes.word(format))};
}

template <Fp8 kFormat>
void write_bytes(const CudaCall& call, const Operand& operand, int64_t rows, bool turned,
                 float* scale, uint8_t* to) {
  const Bf16* x = operand.tensor.as<Bf16>();
  const float* largest = operand.largest.as<float>();
  const int64_t count = operand.tensor.type->num_elements(), columns = count / rows;
  if (turned)
    launch(call,
           {.blocks = dim3(blocks_for(columns, kTileColumns), blocks_for(rows, kTileRows)),
            .threads = kThreads},
           turned_bytes_kernel<kFormat>, x, rows, columns, largest, scale, to);
  else
    launch(call, {.blocks = blocks_for(count / 16, kThreads), .threads = kThreads},
           bytes_kernel<kFormat>, x, count, largest, scale, to);
}

// The operand as bytes in rows of k. `rows` are those that it has in memory.
DeviceMatrix as_bytes(const CudaCall& call, const Operand& operand, int64_t rows, bool turned,
                      int64_t k, float* scale, uint8_t* to) {
  if (operand.format == Fp8::E4m3)
    write_bytes<Fp8::E4m3>(call, operand, rows, turned, scale, to);
  else
    write_bytes<Fp8::E5m2>(call, operand, rows, turned, scale, to);
  return {.data = to, .stride = k, .fp8 = operand.format, .scale = scale};
}

DeviceMatrix as_rounded(const CudaCall& call, const Operand& operand, const DeviceMatrix& before,
                        std::byte* to) {
  dispatch_float(operand.tensor.type->dtype, [&]<typename T>() {
    const int64_t count = operand.tensor.type->num_elements();
    launch(call, grid_for(count), round_kernel<T>, static_cast<const T*>(operand.tensor.as<T>()),
           count, static_cast<const float*>(operand.largest.as<float>()), operand.format,
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
  constexpr int kNote = 4;  // cuBLASLt wants scales on 16 bytes
  auto* scales = reinterpret_cast<float*>(begin + places.bytes);
  const Operand x_operand = operand_of(call, 0, "x_format");
  const Operand w_operand = operand_of(call, 1, "w_format");
  DeviceProduct product = product_of(call, call.result(0));
  if (multiplies_in_fp8(*x.type, *w.type)) {
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
