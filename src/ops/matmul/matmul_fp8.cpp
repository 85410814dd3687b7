// SPDX-License-Identifier: Apache-2.0
// matmul_fp8(x, w, x_largest?, w_largest?): matmul of x and w rounded to fp8, each scaled by a
// power of two so that its largest entry just fits. That entry is given, with x_known or w_known,
// or else found and returned, so that only the first matmul that reads a value searches for it.
// Created by use_fp8, after the gradients; sums and result as in matmul.
#include "ops/largest_entry.h"
#include "ops/matmul/fp8_operands.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  for (const char* format : {"x_format", "w_format"})
    call.require(fp8_from_name(call.attributes.word(format)).has_value(),
                 "{} = {} is not one of e4m3, e5m2", format, call.attributes.word(format));
  Dims dims = require_contraction(call);
  std::vector<TensorType> results{{dtype_attribute(call, "dtype", 0), std::move(dims)}};
  size_t operands = 2;
  for (const size_t i : {0, 1}) {
    const TensorType largest = largest_entry_type();
    const LargestEntryPlace entry = place_of_largest_entry(call.attributes, i);
    if (!entry.known) {
      results.push_back(largest);
      continue;
    }
    call.require(entry.place < call.operands.size(), "{} is set, but the operand is missing",
                 i == 0 ? "x_largest" : "w_largest");
    require_type(call, entry.place, largest);
    ++operands;
  }
  call.require(call.operands.size() == operands, "{} operands instead of {}", call.operands.size(),
               operands);
  return results;
}

ShardingRule sharding(const OpCall& call) { return largest_entry_sharding(call, {1, 2}); }

// Rounding is not counted: the matmuls take the time.
Cost cost(const OpCall& call) {
  const Contraction c = contraction_of(call.operand(0), call.operand(1));
  return cost_of(call, 2 * c.m * c.n * c.k);
}

int64_t workspace_bytes(const OpCall& call, const DeviceProfile& profile) {
  return Fp8Workspace(call.operand(0), call.operand(1)).bytes + Fp8Workspace::kNoteBytes +
         matmul_workspace_bytes(call, profile);
}

}  // namespace

const OpDef& matmul_fp8_def() {
  static const OpDef def{
      .name = "matmul_fp8",
      .summary = "matmul of operands that are scaled and rounded to 8-bit floats",
      .operands = {{"x"},
                   {"w"},
                   {.name = "x_largest", .optional = true},
                   {.name = "w_largest", .optional = true}},
      .results = {"y", "x_largest", "w_largest"},
      .attributes = {{"dtype", "same"},
                     {"x_format", "e4m3"},
                     {"w_format", "e4m3"},
                     {"x_known", int64_t{0}},
                     {"w_known", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .workspace_bytes = workspace_bytes,
      .accumulates = {0},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
