// SPDX-License-Identifier: Apache-2.0
// join_pieces(index, piece0, piece1, ...): what came round a ring, put together. Dim `dim` is cut
// into as many pieces as there are ranks; piece h is that of the rank h positions before this one.
#include "ops/collective/join_pieces.h"

#include "ops/collective/collective.h"

namespace tessera {
namespace {

std::vector<TensorType> infer_types(const OpCall& call) {
  require_type(call, 0, scalar(DType::Int32));
  TensorType type = call.operand(1);
  const int dim = type.index_of(call.attributes.word("dim"));
  call.require(dim >= 0, "piece0 {} has no dim {}", to_string(type), call.attributes.word("dim"));
  for (size_t i = 2; i < call.operands.size(); ++i) require_type(call, i, type);
  type.dims[static_cast<size_t>(dim)].size *= std::ssize(call.operands) - 1;
  return {type};
}

ShardingRule sharding(const OpCall& call) { return {.whole = {call.attributes.word("dim")}}; }

// An index, and a piece of each rank.
std::vector<OperandSpec> ring_operands() {
  static constexpr std::string_view kNames[kMostPieces] = {
      "piece0", "piece1", "piece2",  "piece3",  "piece4",  "piece5",  "piece6",  "piece7",
      "piece8", "piece9", "piece10", "piece11", "piece12", "piece13", "piece14", "piece15"};
  std::vector<OperandSpec> operands{{"index"}};
  for (const std::string_view name : kNames)
    operands.push_back({.name = name, .optional = operands.size() > 1});
  return operands;
}

}  // namespace

const OpDef& join_pieces_def() {
  static const OpDef def{
      .name = "join_pieces",
      .summary = "pieces that came round a ring of ranks, each at its place",
      .operands = ring_operands(),
      .results = {"y"},
      .attributes = {{"dim", "none"}},
      .infer_types = infer_types,
      .cost = moving_cost,
      .sharding = sharding,
  };
  return def;
}

// take_piece(x, index): of dim `dim`, cut into `ranks` pieces, that of the rank `hop` positions
// before this one in the ring.
namespace {

std::vector<TensorType> infer_piece(const OpCall& call) {
  require_type(call, 1, scalar(DType::Int32));
  const int64_t hop = call.attributes.integer("hop");
  call.require(hop >= 0 && hop < ranks_of(call), "hop = {} is not one of {} ranks", hop,
               ranks_of(call));
  TensorType type = call.operand(0);
  divide_dim(call, type, dim_attribute(call, "dim"));
  return {type};
}

// The rest of x is not read.
Cost piece_cost(const OpCall& call) {
  return {.bytes = call.operand(1).bytes() + 2 * call.result(0).bytes()};
}

}  // namespace

const OpDef& take_piece_def() {
  static const OpDef def{
      .name = "take_piece",
      .summary = "of a dim, the piece of the rank that is some positions before in a ring",
      .operands = {{"x"}, {"index"}},
      .results = {"y"},
      .attributes = {{"ranks", int64_t{1}}, {"dim", "none"}, {"hop", int64_t{0}}},
      .infer_types = infer_piece,
      .cost = piece_cost,
      .sharding = sharding,
  };
  return def;
}

}  // namespace tessera
