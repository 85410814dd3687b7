// SPDX-License-Identifier: Apache-2.0
// pool_ends(all_ends, shard): the ends of a pool that put_rows fills. Each rank along all_ends'
// first dim has sorted rows of its own by expert; the pool has those of experts [shard * own,
// (shard + 1) * own), and room for `slots` of each in the mean. `needed`, if asked for, are
// the ends that a large enough pool would have.
#include "ir/op_list.h"
#include "ops/moe/pool.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  const TensorType& all = call.operand(0);
  call.require(all.dtype == DType::Int32 && all.dims.size() == 2,
               "all_ends must be int32 of ranks and experts, is {}", to_string(all));
  require_type(call, 1, scalar(DType::Int32));
  const int64_t ranks = all.dims[0].size, experts = all.dims[1].size;
  call.require(experts % ranks == 0, "{} experts do not divide by {} ranks", experts, ranks);
  call.require(call.attributes.integer("slots") >= 1, "slots = {} must be positive",
               call.attributes.integer("slots"));
  const TensorType ends{DType::Int32, {{all.dims[1].name, experts / ranks}}};
  if (call.attributes.integer("needed") != 0) return {ends, ends};
  return {ends};
}

// A sum of differences.
Cost cost(const OpCall& call) {
  return cost_of(call, 2 * call.operand(0).dims[0].size * call.result(0).num_elements());
}

}  // namespace

const OpDef& pool_ends_def() {
  static const OpDef def{
      .name = "pool_ends",
      .summary = "the ends of a pool whose rows come from several ranks",
      .operands = {{"all_ends"}, {"shard"}},
      .results = {"ends", "needed"},
      .attributes = {{"slots", int64_t{1}}, {"needed", int64_t{0}}},
      .infer_types = infer_types,
      .cost = cost,
      .sharding = moving_sharding,
      .reads_own = {0},
  };
  return def;
}

}  // namespace tessera
