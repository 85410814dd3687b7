// SPDX-License-Identifier: Apache-2.0
// A row outside the dim at a time. In place only the part is touched.
#define HWY_TARGET_INCLUDE "ops/elementwise/add_part_cpu.cpp"
#include "exec/cpu/cpu_call.h"
#include "exec/cpu/each_target.h"
#include "exec/cpu/lanes.h"
#include "exec/tensor_parts.h"
#include "ops/row_ranges.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// A tensor with the dim, cut at each of its indices.
struct PartRows {
  explicit PartRows(const TensorType& whole, const Attributes& attributes)
      : dim(static_cast<size_t>(whole.index_of(attributes.word("dim")))),
        parts(parts_along(whole, dim, whole.dims[dim].size)),
        begin(attributes.integer("index") * parts.part_stride) {}

  size_t dim;
  Parts parts;
  int64_t begin;  // of the part within a row
};

template <typename T>
void add_rows(const CpuCall& call, const PartRows& rows, int64_t first, int64_t last) {
  const int64_t inner = rows.parts.inner, outer_stride = rows.parts.outer_stride;
  for (int64_t row = first; row < last; ++row) {
    const T *y = call.operand(0).as<T>() + row * outer_stride,
            *u = call.operand(1).as<T>() + row * inner;
    T* sum = call.result(0).as<T>() + row * outer_stride;
    if (sum != y) std::copy_n(y, outer_stride, sum);
    T* part = sum + rows.begin;
#pragma GCC ivdep
    for (int64_t i = 0; i < inner; ++i) part[i] = store<T>(load(part[i]) + load(u[i]));
  }
}

}  // namespace

void add_part_cpu(const CpuCall& call) {
  const PartRows rows(*call.result(0).type, call.attributes);
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    run_rows(call.threads, rows.parts.outer, rows.parts.outer_stride,
             [&](int64_t begin, int64_t end) { add_rows<T>(call, rows, begin, end); });
  });
}

void take_part_cpu(const CpuCall& call) {
  const PartRows rows(*call.operand(0).type, call.attributes);
  dispatch_float(call.result(0).type->dtype, [&]<typename T>() {
    const T* y = call.operand(0).as<T>() + rows.begin;
    T* u = call.result(0).as<T>();
    run_rows(call.threads, rows.parts.outer, rows.parts.inner, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        std::copy_n(y + row * rows.parts.outer_stride, rows.parts.inner,
                    u + row * rows.parts.inner);
    });
  });
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
TESSERA_KERNEL(add_part_cpu)
TESSERA_KERNEL(take_part_cpu)
}  // namespace tessera
#endif
