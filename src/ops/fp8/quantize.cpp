// SPDX-License-Identifier: Apache-2.0
// quantize(x, largest?): x as scaled 8-bit floats in rows of what a product sums over: as it is, or
// turned, where those are its outermost `split` dims, or both. The outermost `matrices` dims, such
// as experts, count matrices. With scaling = tensor the largest entry just fits; tiles and blocks
// of 128 find their own.
#include "ops/fp8/quantized_matrices.h"
#include "ops/largest_entry.h"
#include "ops/moe/pool.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

void require_words(const OpCall& call) {
  const std::string &format = call.attributes.word("format"),
                    &scaling = call.attributes.word("scaling"),
                    &layout = call.attributes.word("layout");
  call.require(fp8_from_name(format).has_value(), "format = {} is not one of e4m3, e5m2", format);
  call.require(fp8_scaling_from_name(scaling).has_value(),
               "scaling = {} is not one of tensor, tiles, blocks", scaling);
  call.require(layout == "as_is" || layout == "turned" || layout == "both",
               "layout = {} is not one of as_is, turned, both", layout);
}

// The largest entry is operand `i`, where scales are of tensors.
void require_largest(const OpCall& call, size_t i) {
  const std::string& scaling = call.attributes.word("scaling");
  const bool largest = call.operands.size() > i;
  call.require(largest == (scaling == "tensor"), "scaling = {} {} the largest entry", scaling,
               largest ? "does not read" : "needs");
  if (largest) require_type(call, i, largest_entry_type());
}

std::vector<TensorType> matrix_types(const QuantizedMatrices& all, const TensorType& x,
                                     int64_t matrices, int64_t split) {
  const auto rows = x.dims.begin() + matrices, columns = x.dims.begin() + split;
  const Dims counted(x.dims.begin(), rows);
  std::vector<TensorType> results;
  if (all.as_is) {
    results.push_back({dtype_of(all.format), x.dims});
    results.push_back(fp8_scale_type(all.scaling, all.as_is->rows, all.as_is->k, counted));
  }
  if (all.turned) {
    Dims dims = counted;
    dims.insert(dims.end(), columns, x.dims.end());
    dims.insert(dims.end(), rows, columns);
    results.push_back({dtype_of(all.format), std::move(dims)});
    results.push_back(fp8_scale_type(all.scaling, all.turned->rows, all.turned->k, counted));
  }
  return results;
}

std::vector<TensorType> infer_types(const OpCall& call) {
  require_float(call, 0);
  require_words(call);
  const TensorType& x = call.operand(0);
  const int64_t matrices = call.attributes.integer("matrices"),
                split = call.attributes.integer("split");
  call.require(matrices >= 0 && split > matrices && split < std::ssize(x.dims),
               "matrices = {} and split = {} leave no rows or no columns of {}", matrices, split,
               to_string(x));
  require_largest(call, 1);
  return matrix_types(quantized_matrices(call.attributes, x), x, matrices, split);
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
                     {"split", int64_t{1}},
                     {"matrices", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .shrinks = true,
      .sharding = sharding,
  };
  return def;
}

// quantize_pool(x, ends, largest?): the rows of a pool likewise, as they lie and turned. Bytes of
// rows after the last end are zeros up to the next multiple of 128, as far as products read them,
// and not written beyond. Tiles of the turned rows may hold rows of several experts.
namespace {

std::vector<TensorType> infer_pool_types(const OpCall& call) {
  require_pool(call, 0);
  require_ends(call, 1, 0);
  require_words(call);
  require_largest(call, 2);
  const TensorType& x = call.operand(0);
  call.require(x.dims.size() > 2, "the rows of {} have no entries", to_string(x));
  call.require(call.attributes.word("scaling") != "blocks", "rows have no scales of blocks");
  return matrix_types(quantized_pool(call.attributes, x), x, 0, 2);
}

}  // namespace

const OpDef& quantize_pool_def() {
  static const OpDef def{
      .name = "quantize_pool",
      .summary = "the rows of experts as scaled 8-bit floats, as they lie and turned",
      .operands = {{"x"}, {"ends"}, {.name = "largest", .optional = true}},
      .results = {"q", "scale", "turned", "turned_scale"},
      .attributes = {{"format", "e4m3"}, {"scaling", "tensor"}, {"layout", "both"}},
      .infer_types = infer_pool_types,
      .cost = cost,
      .shrinks = true,
      .sharding = sharding,
      .reads_own = {1},
  };
  return def;
}

}  // namespace tessera
