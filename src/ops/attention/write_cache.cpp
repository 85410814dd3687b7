// SPDX-License-Identifier: Apache-2.0
// write_cache(cache, rows, positions): the cache of keys or of values with each row at its
// position. Rows of one sequence must have different positions.
#include "ops/type_rules.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType &cache = call.operand(0), &rows = call.operand(1);
  require_float(call, 0);
  call.require(cache.dims.size() >= 3, "cache must be [batch, cached, ...], is {}",
               to_string(cache));
  TensorType wanted = cache;
  if (rows.dims.size() >= 2) wanted.dims[1] = rows.dims[1];
  require_type(call, 1, wanted);
  require_type(call, 2, {DType::Int32, {rows.dims[0], rows.dims[1]}});
  return {cache};
}

Cost cost(const OpCall& call) { return cost_of(call, 0); }

// A row may belong anywhere in the cache.
ShardingRule sharding(const OpCall& call) {
  return {.whole = {call.operand(0).dims[1].name, call.operand(1).dims[1].name}};
}

}  // namespace

const OpDef& write_cache_def() {
  static const OpDef def{
      .name = "write_cache",
      .summary = "writes keys or values of new positions into a cache",
      .operands = {{"cache"}, {"rows"}, {"positions"}},
      .results = {"cache"},
      .infer_types = infer_types,
      .cost = cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
