// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/ragged_product.h"

namespace tessera {
namespace {

constexpr int64_t kMultiple = 8, kLarge = 1024;

bool is_ragged(int64_t size) { return size >= kLarge && size % kMultiple != 0; }

const std::byte* at(const void* data, int64_t element, DType dtype) {
  return static_cast<const std::byte*>(data) + element * size_bytes(dtype);
}

// Of a matrix without its first rows and columns.
DeviceMatrix without(const DeviceMatrix& matrix, int64_t rows, int64_t columns, DType dtype) {
  const int64_t skipped =
      matrix.transposed ? columns * matrix.stride + rows : rows * matrix.stride + columns;
  return {at(matrix.data, skipped, dtype), matrix.stride, matrix.transposed};
}

// Moves what is read and written like C.
void skip(DeviceProduct& p, int64_t rows, int64_t columns) {
  const int64_t skipped = rows * p.c_stride + columns;
  p.c = static_cast<std::byte*>(p.c) + skipped * size_bytes(p.result_dtype);
  if (p.addend) p.addend = at(p.addend, skipped, p.result_dtype);
}

}  // namespace

std::optional<std::array<DeviceProduct, 2>> split_ragged(const DeviceProduct& p) {
  const bool has_epilogue = p.bias || p.before || p.activation != EpilogueActivation::None;
  if (p.dtype != DType::Bf16 || p.a.fp8 || has_epilogue) return std::nullopt;
  DeviceProduct most = p, rest = p;
  if (is_ragged(p.n)) {
    rest.n = p.n % kMultiple;
    most.n = p.n - rest.n;
    rest.b = without(p.b, 0, most.n, p.dtype);
    skip(rest, 0, most.n);
    return {{most, rest}};
  }
  if (is_ragged(p.m) && p.a.transposed) {
    rest.m = p.m % kMultiple;
    most.m = p.m - rest.m;
    rest.a = without(p.a, most.m, 0, p.dtype);
    skip(rest, most.m, 0);
    return {{most, rest}};
  }
  if (is_ragged(p.k) && !(p.a.transposed && !p.b.transposed)) {
    rest.k = p.k % kMultiple;
    most.k = p.k - rest.k;
    rest.a = without(p.a, 0, most.k, p.dtype);
    rest.b = without(p.b, most.k, 0, p.dtype);
    most.accumulate = true;
    most.addend = nullptr;
    return {{rest, most}};  // the small part first: it is what is rounded once more
  }
  return std::nullopt;
}

}  // namespace tessera
