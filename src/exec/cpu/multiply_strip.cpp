// SPDX-License-Identifier: Apache-2.0
// Products of strips, and the rounding of their sums to bf16, compiled for each instruction set.
#define HWY_TARGET_INCLUDE "exec/cpu/multiply_strip.cpp"
#include "exec/cpu/each_target.h"
#include "exec/cpu/strip_passes.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
void strip_of_floats(const Strip<float>& strip) { multiply_rows_of<MultiplyAdd>(strip); }
void strip_of_doubles(const Strip<double>& strip) { multiply_rows_of<MultiplyAdd>(strip); }

void narrowed_rows(const NarrowedRows& part) {
  for (int64_t i = 0; i < part.rows; ++i) {
    const float* from = part.from + i * part.from_row;
    Bf16* to = part.to + i * part.to_row;
    for (int64_t j = 0; j < part.columns; ++j)
      to[j] = to_bf16(part.add ? from[j] + to_float(to[j]) : from[j]);
  }
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

void multiply_strip(const Strip<float>& strip) { TESSERA_VERSION(strip_of_floats)(strip); }
void multiply_strip(const Strip<double>& strip) { TESSERA_VERSION(strip_of_doubles)(strip); }
void narrow_rows(const NarrowedRows& part) { TESSERA_VERSION(narrowed_rows)(part); }

}  // namespace tessera
#endif
