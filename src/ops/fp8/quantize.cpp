// SPDX-License-Identifier: Apache-2.0
// quantize(x, largest?): x as 8-bit floats, each times its scale, in rows of what a product sums
// over: x as it is, where those are its innermost dims, or turned, where they are its outermost
// `split` ones; layout = both gives both from one pass. With scaling = tensor the largest entry
// just fits; tiles and blocks of 128 find their own. Created by use_fp8, after the gradients.
#include "ops/fp8/quantized_matrices.h"
#include "ops/largest_entry.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  const TensorType& x = call.operand(0);
  const std::string &format = call.attributes.word("format"),
                    &scaling = call.attributes.word("scaling"),
                    &layout = call.attributes.word("layout");
  const int64_t split = call.attributes.integer("split");
  call.require(fp8_from_name(format).has_value(), "format = {} is not one of e4m3, e5m2", format);
  call.require(fp8_scaling_from_name(scaling).has_value(),
               "scaling = {} is not one of tensor, tiles, blocks", scaling);
  call.require(layout == "as_is" || layout == "turned" || layout == "both",
               "layout = {} is not one of as_is, turned, both", layout);
  call.require(split > 0 && split < std::ssize(x.dims),
               "split = {} leaves no rows or no columns of {}", split, to_string(x));
  const bool largest = call.operands.size() > 1;
  call.require(largest == (scaling == "tensor"), "scaling = {} {} the largest entry", scaling,
               largest ? "does not read" : "needs");
  if (largest) require_type(call, 1, largest_entry_type());
  const QuantizedMatrices all = quantized_matrices(call.attributes, x);
  std::vector<TensorType> results;
  if (all.as_is) {
    results.push_back({dtype_of(all.format), x.dims});
    results.push_back(fp8_scale_type(all.scaling, all.as_is->rows, all.as_is->k));
  }
  if (all.turned) {
    Dims dims(x.dims.begin() + split, x.dims.end());
    dims.insert(dims.end(), x.dims.begin(), x.dims.begin() + split);
    results.push_back({dtype_of(all.format), std::move(dims)});
    results.push_back(fp8_scale_type(all.scaling, all.turned->rows, all.turned->k));
  }
  return results;
}

// Each entry is scaled.
Cost cost(const OpCall& call) { return cost_of(call, call.operand(0).num_elements()); }

// Scales are of a rank's own rows.
ShardingRule sharding(const OpCall& call) {
  ShardingRule rule = largest_entry_sharding(call, {1, 3});
  for (const TensorType& result : call.results)
    for (const Dim& dim : result.dims) rule.whole.push_back(dim.name);
  return rule;
}

}  // namespace

const OpDef& quantize_def() {
  static const OpDef def{
      .name = "quantize",
      .summary = "x as scaled 8-bit floats, as it lies and turned, for products that read both",
      .operands = {{"x"}, {.name = "largest", .optional = true}},
      .results = {"q", "scale", "turned", "turned_scale"},
      .attributes = {{"format", "e4m3"},
                     {"scaling", "tensor"},
                     {"layout", "both"},
                     {"split", int64_t{1}}},
      .infer_types = infer_types,
      .cost = cost,
      .shrinks = true,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
