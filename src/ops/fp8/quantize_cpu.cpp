// SPDX-License-Identifier: Apache-2.0
// The reference: each matrix in bands of rows that share no scale with others.
#include <cmath>

#include "exec/cpu/cpu_call.h"
#include "ops/fp8/quantized_matrices.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

// One matrix of x; what lies outside of the rows and columns that are used counts as zeros.
template <typename T>
struct MatrixView {
  const QuantizedMatrix& m;
  const T* x;
  int64_t used_rows, used_columns;

  float at(int64_t i, int64_t j) const {
    if (i >= used_rows || j >= used_columns) return 0;
    return static_cast<float>(load(x[i * m.row_stride + j * m.column_stride]));
  }
};

template <typename T>
float largest_of(const MatrixView<T>& view, int64_t row, int64_t column, Fp8Unit unit) {
  float largest = 0;
  for (int64_t i = row; i < std::min(row + unit.rows, view.m.rows); ++i)
    for (int64_t j = column; j < std::min(column + unit.columns, view.m.k); ++j)
      largest = std::max(largest, std::abs(view.at(i, j)));
  return largest;
}

template <typename T>
void write_unit(const MatrixView<T>& view, int64_t row, int64_t column, Fp8Unit unit, int exponent,
                Fp8 format, uint8_t* bytes) {
  const float by = power_of_two(exponent);
  for (int64_t i = row; i < std::min(row + unit.rows, view.m.rows); ++i)
    for (int64_t j = column; j < std::min(column + unit.columns, view.m.k); ++j)
      bytes[i * view.m.k + j] = fp8_bits(rounded_to_fp8(view.at(i, j) * by, format), format);
}

// `largest`: of the tensor, or null.
template <typename T>
void write_matrix(ThreadPool& threads, const QuantizedMatrices& all, const MatrixView<T>& view,
                  const float* largest, uint8_t* bytes, float* scales) {
  const QuantizedMatrix& m = view.m;
  const Fp8ScaleIndex index{all.scaling, m.rows, m.k};
  const Fp8Unit unit = fp8_unit(all.scaling, m.k);
  const int known = largest ? fp8_exponent(*largest, all.format) : 0;
  if (largest) *scales = power_of_two(-known);
  const int64_t bands = (m.rows + unit.rows - 1) / unit.rows;
  threads.run_ranges(bands, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin * unit.rows; row < std::min(end * unit.rows, m.rows);
         row += unit.rows) {
      for (int64_t column = 0; column < m.k; column += unit.columns) {
        const int exponent =
            largest ? known : fp8_exponent(largest_of(view, row, column, unit), all.format);
        if (!largest) scales[index(row, column)] = power_of_two(-exponent);
        write_unit(view, row, column, unit, exponent, all.format, bytes);
      }
      if (all.scaling == Fp8Scaling::Blocks)  // the padding
        for (int64_t i = fp8_tiles(m.k); i < padded_fp8_blocks(m.k); ++i)
          scales[row / kFp8Tile * padded_fp8_blocks(m.k) + i] = 0;
    }
  });
}

// `used`: of the outer size.
void quantize(const CpuCall& call, const QuantizedMatrices& all, const TensorRef& largest,
              int64_t used) {
  const TensorRef x = call.operand(0);
  const float* entry = largest ? largest.as<float>() : nullptr;
  dispatch_float(x.type->dtype, [&]<typename T>() {
    for (const auto& m : {all.as_is, all.turned})
      for (int64_t i = 0; m && i < all.count; ++i) {
        const bool turned = m->row_stride == 1;
        write_matrix<T>(call.threads, all,
                        {.m = *m,
                         .x = x.as<T>() + i * m->rows * m->k,
                         .used_rows = turned ? m->rows : used,
                         .used_columns = turned ? used : m->k},
                        entry,
                        reinterpret_cast<uint8_t*>(call.result(m->bytes).data) + i * m->rows * m->k,
                        call.result(m->scale).template as<float>() +
                            i * Fp8ScaleIndex{all.scaling, m->rows, m->k}.step());
      }
  });
}

}  // namespace

void quantize_cpu(const CpuCall& call) {
  const QuantizedMatrices all = quantized_matrices(call.attributes, *call.operand(0).type);
  quantize(call, all, call.operand(1), all.outer);
}

void quantize_pool_cpu(const CpuCall& call) {
  const TensorRef ends = call.operand(1);
  quantize(call, quantized_pool(call.attributes, *call.operand(0).type), call.operand(2),
           ends.as<int32_t>()[ends.type->num_elements() - 1]);
}

}  // namespace tessera
