// SPDX-License-Identifier: Apache-2.0
// Where matmul_fp8 keeps its rounded operands: in their own dtype, which every fp8 number fits.
// What GPUs note of each, its largest entry and its scale, comes behind them.
#pragma once

#include "core/fp8.h"
#include "ops/matmul/contraction.h"

namespace tessera {

struct Fp8Workspace {
  static constexpr int64_t kNoteBytes = 256;
  int64_t x = 0, w = 0, bytes = 0;  // where each begins, and both

  Fp8Workspace(const TensorType& x_type, const TensorType& w_type)
      : w(aligned(x_type.bytes())), bytes(w + aligned(w_type.bytes())) {}

 private:
  static int64_t aligned(int64_t size) { return (size + 255) / 256 * 256; }
};

}  // namespace tessera
