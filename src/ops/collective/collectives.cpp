// SPDX-License-Identifier: Apache-2.0
// The ops of the IR that have no kernel: compiler/translate_node makes instructions of them, which
// exec/instruction_runner runs on every machine.
#include "ops/collective/collective.h"
#include "ops/type_rules.h"

namespace tessera {
namespace {

// What every op that communicates is told, and what only this one is.
std::vector<AttributeSpec> collective_attributes(std::vector<AttributeSpec> own = {}) {
  std::vector<AttributeSpec> all{{"axes", "none"}, {"ranks", int64_t{1}}, {"async", int64_t{0}}};
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<TensorType> same_type(const OpCall& call) { return {call.operand(0)}; }

// A sum over ranks, of each element of the result.
Cost summing_cost(const OpCall& call) {
  return cost_of(call, (call.attributes.integer("ranks") - 1) * call.result(0).num_elements());
}

std::vector<TensorType> infer_all_gather(const OpCall& call) {
  TensorType type = call.operand(0);
  type.dims[dim_attribute(call, "dim")].size *= ranks_of(call);
  return {type};
}

std::vector<TensorType> infer_reduce_scatter(const OpCall& call) {
  TensorType type = call.operand(0);
  divide_dim(call, type, dim_attribute(call, "dim"));
  return {type};
}

std::vector<TensorType> infer_all_reduce(const OpCall& call) {
  ranks_of(call);
  const std::string& reduction = call.attributes.word("reduction");
  call.require(reduction == "sum" || reduction == "max", "reduction = {} is not sum or max",
               reduction);
  return {call.operand(0)};
}

std::vector<TensorType> infer_all_to_all(const OpCall& call) {
  TensorType type = call.operand(0);
  const size_t split = dim_attribute(call, "split"), join = dim_attribute(call, "join");
  call.require(split != join, "split and join are both {}", type.dims[split].name);
  divide_dim(call, type, split);
  type.dims[join].size *= ranks_of(call);
  return {type};
}

std::vector<TensorType> infer_shift(const OpCall& call) {
  ranks_of(call);
  return {call.operand(0)};
}

std::vector<TensorType> infer_gather_ends(const OpCall& call) {
  const TensorType& ends = call.operand(0);
  call.require(ends.dtype == DType::Int32 && ends.dims.size() == 1,
               "ends must be int32 of experts, is {}", to_string(ends));
  return {{DType::Int32, {{"sorter", ranks_of(call)}, ends.dims[0]}}};
}

// A pool that ranks share in another way: `split` is divided among them, `join` put together.
std::vector<TensorType> infer_moved_pool(const OpCall& call, size_t split, size_t join,
                                         bool splits_experts) {
  TensorType type = call.operand(0);
  call.require(type.dims.size() >= 2, "x {} has no dims of experts and slots", to_string(type));
  const int64_t ranks = ranks_of(call), experts = type.dims[0].size * (splits_experts ? 1 : ranks);
  require_type(call, 1, {DType::Int32, {{"sorter", ranks}, {type.dims[0].name, experts}}});
  divide_dim(call, type, split);
  type.dims[join].size *= ranks;
  return {type};
}
std::vector<TensorType> infer_put_rows(const OpCall& call) {
  return infer_moved_pool(call, 0, 1, true);
}
std::vector<TensorType> infer_take_rows(const OpCall& call) {
  return infer_moved_pool(call, 1, 0, false);
}

std::vector<TensorType> infer_copy(const OpCall& call) {
  const std::string& to = call.attributes.word("to");
  call.require(to == "host" || to == "device", "to = {} is not host or device", to);
  return {call.operand(0)};
}

std::vector<TensorType> infer_clear_gaps(const OpCall& call) {
  require_float(call, 0);
  return {call.operand(0)};
}

}  // namespace

// What the ranks along `axes` hold of dim `dim`, put together on each of them.
const OpDef& all_gather_def() {
  static const OpDef def{
      .name = "all_gather",
      .summary = "the shards of all ranks, joined along a dim",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"dim", "none"}}),
      .infer_types = infer_all_gather,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

// The sum of x over the ranks along `axes`, each keeping its share of dim `dim`.
const OpDef& reduce_scatter_def() {
  static const OpDef def{
      .name = "reduce_scatter",
      .summary = "the sum over ranks, split along a dim",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"dim", "none"}}),
      .infer_types = infer_reduce_scatter,
      .cost = summing_cost,
      .communicates = true,
  };
  return def;
}

// The sum (or the largest) of x over the ranks along `axes`.
const OpDef& all_reduce_def() {
  static const OpDef def{
      .name = "all_reduce",
      .summary = "the sum over ranks, whole on each",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"reduction", "sum"}}),
      .infer_types = infer_all_reduce,
      .cost = summing_cost,
      .in_place = {{.result = 0, .operand = 0}},
      .communicates = true,
  };
  return def;
}

// From shards of dim `join` to shards of dim `split`: every rank sends each other one a slice of
// `split` and joins what it gets along `join`.
const OpDef& all_to_all_def() {
  static const OpDef def{
      .name = "all_to_all",
      .summary = "from shards of one dim to shards of another",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes({{"split", "none"}, {"join", "none"}}),
      .infer_types = infer_all_to_all,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

// Round the ring of ranks along `axes`: each gives x to the next and has the previous one's.
const OpDef& shift_def() {
  static const OpDef def{
      .name = "shift",
      .summary = "the previous rank's x, round a ring",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = collective_attributes(),
      .infer_types = infer_shift,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

// Where each rank's rows of each expert end, for all ranks along `axes` that sorted some.
const OpDef& gather_ends_def() {
  static const OpDef def{
      .name = "gather_ends",
      .summary = "how many rows each rank has for each expert",
      .operands = {{"ends"}},
      .results = {"all_ends"},
      .attributes = collective_attributes(),
      .infer_types = infer_gather_ends,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

// From rows that each rank sorted by expert to the pools of the ranks that have these experts: by
// expert, then in the order of the ranks, then as sorted. No rank has more than `most` for another;
// 0: not known.
const OpDef& put_rows_def() {
  static const OpDef def{
      .name = "put_rows",
      .summary = "sorted rows to the pools of the ranks that have their experts",
      .operands = {{"x"}, {"all_ends"}},
      .results = {"y"},
      .attributes = collective_attributes({{"most", int64_t{0}}}),
      .infer_types = infer_put_rows,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

// The way back of put_rows: each rank gets what the pools have for the rows that it sorted.
const OpDef& take_rows_def() {
  static const OpDef def{
      .name = "take_rows",
      .summary = "rows of the experts' pools back to the ranks that sorted them",
      .operands = {{"x"}, {"all_ends"}},
      .results = {"y"},
      .attributes = collective_attributes({{"most", int64_t{0}}}),
      .infer_types = infer_take_rows,
      .cost = moving_cost,
      .communicates = true,
  };
  return def;
}

// y, once the collective that fills it is done. It is the same buffer; x and all_ends, which the
// collective reads, stay alive until then.
const OpDef& wait_def() {
  static const OpDef def{
      .name = "wait",
      .summary = "what a started collective or copy fills, once it is done",
      .operands = {{"y"}, {.name = "x", .optional = true}, {.name = "all_ends", .optional = true}},
      .results = {"y"},
      .infer_types = same_type,
      .cost = moving_cost,
      .in_place = {{.result = 0, .operand = 0}},
      .aliases = true,
  };
  return def;
}

// x in the memory of the host, or of the device again.
const OpDef& copy_def() {
  static const OpDef def{
      .name = "copy",
      .summary = "the same in another memory",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"to", "device"}, {"async", int64_t{0}}},
      .infer_types = infer_copy,
      .cost = moving_cost,
      .passes_pending = true,
  };
  return def;
}

// x with zeros in the ranges of `gaps` ("3-32+40-64", in elements): the padding between the
// parameters of a flat buffer, so that sums over the whole buffer are right.
const OpDef& clear_gaps_def() {
  static const OpDef def{
      .name = "clear_gaps",
      .summary = "zeros in the padding of a flat buffer",
      .operands = {{"x"}},
      .results = {"y"},
      .attributes = {{"gaps", "none"}},
      .infer_types = infer_clear_gaps,
      .cost = moving_cost,
      .in_place = {{.result = 0, .operand = 0}},
      .sharding = nothing_split,
  };
  return def;
}

}  // namespace tessera
