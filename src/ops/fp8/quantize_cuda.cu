// SPDX-License-Identifier: Apache-2.0
// bf16 in sizes that 16 divides: both matrices from one pass, see quantize_tile_cuda.h. Otherwise
// each matrix alone, a block of threads for the entries that share a scale.
#include <cuda_fp8.h>

#include "ops/fp8/quantize_tile_cuda.h"

namespace tessera {
namespace {

// A row of units by the grid's x, its units by y, matrices by z. `used`: as in QuantizeTiles, of
// columns where the matrix is turned.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    quantize_units_kernel(const T* x, QuantizedMatrix m, Fp8 format, Fp8Scaling scaling,
                          const int32_t* used, const float* largest, uint8_t* bytes,
                          float* scales) {
  x += blockIdx.z * m.rows * m.k;
  bytes += blockIdx.z * m.rows * m.k;
  scales += blockIdx.z * Fp8ScaleIndex{scaling, m.rows, m.k}.step();
  const int64_t end = used ? *used : std::max(m.rows, m.k);
  const Fp8Unit unit = fp8_unit(scaling, m.k);
  const int64_t row = blockIdx.x * unit.rows, column = blockIdx.y * unit.columns;
  const int64_t width = std::min(unit.columns, m.k - column);
  const int64_t count = std::min(unit.rows, m.rows - row) * width;
  const auto at = [&](int64_t i) {
    const int64_t r = row + i / width, c = column + i % width;
    if ((m.row_stride == 1 ? c : r) >= end) return 0.0f;
    return static_cast<float>(widen(x[r * m.row_stride + c * m.column_stride]));
  };
  float own = 0;
  if (scaling != Fp8Scaling::Tensor)
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) own = fmaxf(own, fabsf(at(i)));
  const float most = scaling == Fp8Scaling::Tensor ? *largest : block_max(own, 0.0f);
  const int exponent = fp8_exponent(most, format);
  if (threadIdx.x == 0) {
    if (scaling == Fp8Scaling::Blocks)
      write_block_scale(scales, blockIdx.x, blockIdx.y, m.k, power_of_two(-exponent));
    else
      scales[Fp8ScaleIndex{scaling, m.rows, m.k}(row, column)] = power_of_two(-exponent);
  }
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
    bytes[(row + i / width) * m.k + column + i % width] =
        fp8_bits(rounded_to_fp8(at(i) * power_of_two(exponent), format), format);
}

// What is not a matrix of the call.
struct QuantizeInputs {
  TensorRef x, largest;
  const int32_t* used = nullptr;
};
const float* largest_of(const QuantizeInputs& inputs) {
  return inputs.largest ? inputs.largest.as<float>() : nullptr;
}

void quantize_units(const CudaCall& call, const QuantizeInputs& inputs,
                    const QuantizedMatrices& all, const QuantizedMatrix& m) {
  const Fp8Unit unit = fp8_unit(all.scaling, m.k);
  dispatch_float(inputs.x.type->dtype, [&]<typename T>() {
    launch(call,
           {.blocks = dim3(blocks_for(m.rows, unit.rows), blocks_for(m.k, unit.columns),
                           static_cast<unsigned>(all.count)),
            .threads = kThreads},
           quantize_units_kernel<T>, static_cast<const T*>(inputs.x.as<T>()), m, all.format,
           all.scaling, inputs.used, largest_of(inputs),
           reinterpret_cast<uint8_t*>(call.result(m.bytes).data), call.result(m.scale).as<float>());
  });
}

template <Fp8 kFormat>
auto tiles_kernel(Fp8Scaling scaling) {
  switch (scaling) {
    case Fp8Scaling::Tiles:
      return quantize_kernel<kFormat, Fp8Scaling::Tiles>;
    case Fp8Scaling::Blocks:
      return quantize_kernel<kFormat, Fp8Scaling::Blocks>;
    default:
      return quantize_kernel<kFormat, Fp8Scaling::Tensor>;
  }
}

void quantize_tiles(const CudaCall& call, const QuantizeInputs& inputs,
                    const QuantizedMatrices& all) {
  QuantizeTiles tiles{.x = inputs.x.as<Bf16>(),
                      .rows = all.outer,
                      .columns = all.inner,
                      .used = inputs.used,
                      .largest = largest_of(inputs)};
  const auto place = [&](const std::optional<QuantizedMatrix>& m, uint8_t*& bytes, float*& scale,
                         int64_t& scale_step) {
    if (!m) return;
    bytes = reinterpret_cast<uint8_t*>(call.result(m->bytes).data);
    scale = call.result(m->scale).as<float>();
    scale_step = Fp8ScaleIndex{all.scaling, m->rows, m->k}.step();
  };
  place(all.as_is, tiles.bytes, tiles.scale, tiles.scale_step);
  place(all.turned, tiles.turned, tiles.turned_scale, tiles.turned_scale_step);
  launch(call,
         {.blocks = dim3(blocks_for(all.inner, kFp8Side), blocks_for(all.outer, kFp8Side),
                         static_cast<unsigned>(all.count)),
          .threads = kThreads},
         all.format == Fp8::E4m3 ? tiles_kernel<Fp8::E4m3>(all.scaling)
                                 : tiles_kernel<Fp8::E5m2>(all.scaling),
         tiles);
}

void quantize(const CudaCall& call, const QuantizeInputs& inputs, const QuantizedMatrices& all) {
  if (inputs.x.type->dtype == DType::Bf16 && all.outer % 16 == 0 && all.inner % 16 == 0)
    return quantize_tiles(call, inputs, all);
  for (const auto& m : {all.as_is, all.turned})
    if (m) quantize_units(call, inputs, all, *m);
}

}  // namespace

void quantize_cuda(const CudaCall& call) {
  quantize(call, {.x = call.operand(0), .largest = call.operand(1)},
           quantized_matrices(call.attributes, *call.operand(0).type));
}

void quantize_pool_cuda(const CudaCall& call) {
  const TensorRef ends = call.operand(1);
  quantize(call,
           {.x = call.operand(0),
            .largest = call.operand(2),
            .used = ends.as<int32_t>() + ends.type->num_elements() - 1},
           quantized_pool(call.attributes, *call.operand(0).type));
}

}  // namespace tessera
