// SPDX-License-Identifier: Apache-2.0
// The largest entries of matmul_fp8's operands x and w, and the workspace for their rounded copies:
// in their own dtype, which represents every fp8 number. On GPUs their scales follow.
#pragma once

#include "core/narrow_floats.h"
#include "ir/op_def.h"
#include "ops/matmul/contraction.h"

namespace tessera {

// The largest |entry|, by which an operand is scaled, is operand `place` of the call or, if it has
// to be found, result `place`.
struct LargestEntryPlace {
  bool known;
  size_t place;
};
// Of operand i, 0 or 1. Known ones come after x and w, found ones after y.
inline LargestEntryPlace place_of_largest_entry(const Attributes& attributes, size_t i) {
  const bool x_known = attributes.integer("x_known") != 0;
  if (i == 0) return {.known = x_known, .place = x_known ? size_t{2} : size_t{1}};
  const bool w_known = attributes.integer("w_known") != 0;
  return {
      .known = w_known,
      .place = (w_known ? size_t{2} : size_t{1}) + (x_known == w_known ? size_t{1} : size_t{0})};
}

// GPUs multiply 8-bit numbers of these sizes. Otherwise the rounded operands are multiplied in
// their own dtype.
inline bool multiplies_in_fp8(const TensorType& x, const TensorType& w) {
  const Contraction c = contraction_of(x, w);
  return x.dtype == DType::Bf16 && c.m % 16 == 0 && c.n % 16 == 0 && c.k % 16 == 0;
}

// Bytes moved, first to round the operands and then to multiply them.
struct Fp8Traffic {
  int64_t rounding_bytes = 0, product_bytes = 0;
};
inline Fp8Traffic fp8_traffic(const OpCall& call) {
  const int64_t shrinks =
      multiplies_in_fp8(call.operand(0), call.operand(1)) ? size_bytes(call.operand(0).dtype) : 1;
  Fp8Traffic traffic{.product_bytes = call.results.front().bytes()};
  for (const size_t i : {0, 1}) {
    const int64_t read = call.operand(i).bytes(), rounded = read / shrinks;
    const bool known = place_of_largest_entry(call.attributes, i).known;
    traffic.rounding_bytes += (known ? read : 2 * read) + rounded;
    traffic.product_bytes += rounded;
  }
  return traffic;
}

struct Fp8Workspace {
  static constexpr int64_t kNoteBytes = 256;
  int64_t x = 0, w = 0, bytes = 0;  // where each begins, and both

  Fp8Workspace(const TensorType& x_type, const TensorType& w_type)
      : w(aligned(x_type.bytes())), bytes(w + aligned(w_type.bytes())) {}

 private:
  static int64_t aligned(int64_t size) { return (size + 255) / 256 * 256; }
};

}  // namespace tessera
