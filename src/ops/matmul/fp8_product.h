// SPDX-License-Identifier: Apache-2.0
// The product of matmul_fp8: bytes in rows of k on both sides, and what becomes of sizes that
// tensor cores do not take in 8 bits: both are decoded first, to bf16, which represents every
// scaled byte, or to fp64 where the result is.
#pragma once

#include "core/narrow_floats.h"
#include "ir/op_def.h"
#include "ops/fp8/fp8_scaling.h"
#include "ops/matmul/contraction.h"

namespace tessera {

inline DType decoded_dtype(DType result) {
  return result == DType::Fp64 ? DType::Fp64 : DType::Bf16;
}

struct Fp8Operands {
  const TensorType &x, &w, &x_scale, &w_scale, &result;
};
inline Fp8Operands fp8_operands(const OpCall& call) {
  return {call.operand(0), call.operand(1), call.operand(2), call.operand(3), call.result(0)};
}

// GPUs multiply 8-bit floats of these sizes, unless both are e5m2, with one scale for each side, or
// with those of tiles on one side at least.
inline bool multiplies_in_fp8(const Fp8Operands& p) {
  const Contraction c = contraction_of(p.x, p.w);
  if (c.m % 16 != 0 || c.n % 16 != 0 || c.k % 16 != 0 || p.result.dtype == DType::Fp64)
    return false;
  if (p.x.dtype == DType::E5m2 && p.w.dtype == DType::E5m2) return false;
  const Fp8Scaling x = fp8_scaling_of(p.x_scale), w = fp8_scaling_of(p.w_scale);
  if (x == Fp8Scaling::Tensor && w == Fp8Scaling::Tensor) return true;
  return x != Fp8Scaling::Tensor && w != Fp8Scaling::Tensor &&
         (x == Fp8Scaling::Tiles || w == Fp8Scaling::Tiles) && c.k % kFp8Tile == 0;
}

// Where the decoded operands begin in the workspace, and both.
struct Fp8Workspace {
  int64_t x = 0, w = 0, bytes = 0;

  explicit Fp8Workspace(const Fp8Operands& p) {
    const int64_t each = size_bytes(decoded_dtype(p.result.dtype));
    w = aligned(p.x.num_elements() * each);
    bytes = w + aligned(p.w.num_elements() * each);
  }

 private:
  static int64_t aligned(int64_t size) { return (size + 255) / 256 * 256; }
};

}  // namespace tessera
