// SPDX-License-Identifier: Apache-2.0
// The reference: each matrix in bands of rows that share no scale with others.
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "ops/fp8/quantized_matrices.h"

namespace tessera {
namespace {

template <typename T>
float largest_of(const QuantizedMatrix& m, const T* x, int64_t row, int64_t column, Fp8Unit unit) {
  float largest = 0;
  for (int64_t i = row; i < std::min(row + unit.rows, m.rows); ++i)
    for (int64_t j = column; j < std::min(column + unit.columns, m.k); ++j)
      largest = std::max(
          largest, std::abs(static_cast<float>(load(x[i * m.row_stride + j * m.column_stride]))));
  return largest;
}

template <typename T>
void write_unit(const QuantizedMatrix& m, const T* x, int64_t row, int64_t column, Fp8Unit unit,
                int exponent, Fp8 format, uint8_t* bytes) {
  const float by = power_of_two(exponent);
  for (int64_t i = row; i < std::min(row + unit.rows, m.rows); ++i)
    for (int64_t j = column; j < std::min(column + unit.columns, m.k); ++j) {
      const auto value = static_cast<float>(load(x[i * m.row_stride + j * m.column_stride]));
      bytes[i * m.k + j] = fp8_bits(rounded_to_fp8(value * by, format), format);
    }
}

template <typename T>
void write_matrix(const CpuCall& call, const QuantizedMatrices& all, const QuantizedMatrix& m) {
  const T* x = call.operand(0).as<T>();
  auto* bytes = reinterpret_cast<uint8_t*>(call.result(m.bytes).data);
  float* scales = call.result(m.scale).as<float>();
  const Fp8ScaleIndex index{all.scaling, m.rows, m.k};
  const Fp8Unit unit = fp8_unit(all.scaling, m.k);
  const bool given = all.scaling == Fp8Scaling::Tensor;
  const int known = given ? fp8_exponent(*call.operand(1).as<float>(), all.format) : 0;
  if (given) *scales = power_of_two(-known);
  const int64_t bands = (m.rows + unit.rows - 1) / unit.rows;
  call.threads.run_ranges(bands, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin * unit.rows; row < std::min(end * unit.rows, m.rows);
         row += unit.rows) {
      for (int64_t column = 0; column < m.k; column += unit.columns) {
        const int exponent =
            given ? known : fp8_exponent(largest_of(m, x, row, column, unit), all.format);
        if (!given) scales[index(row, column)] = power_of_two(-exponent);
        write_unit(m, x, row, column, unit, exponent, all.format, bytes);
      }
      if (all.scaling == Fp8Scaling::Blocks)  // the padding
        for (int64_t i = fp8_tiles(m.k); i < padded_fp8_blocks(m.k); ++i)
          scales[row / kFp8Tile * padded_fp8_blocks(m.k) + i] = 0;
    }
  });
}

}  // namespace

void quantize_cpu(const CpuCall& call) {
  const TensorType& type = *call.operand(0).type;
  const QuantizedMatrices all = quantized_matrices(call.attributes, type);
  dispatch_float(type.dtype, [&]<typename T>() {
    for (const auto& m : {all.as_is, all.turned})
      if (m) write_matrix<T>(call, all, *m);
  });
}

}  // namespace tessera
