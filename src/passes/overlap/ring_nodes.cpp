// SPDX-License-Identifier: Apache-2.0
#include "passes/overlap/ring_nodes.h"

#include <fmt/format.h>

#include "ir/emit.h"
#include "ir/op_list.h"
#include "ir/rank_index.h"

namespace tessera {

RingNodes::RingNodes(Graph& graph, Ring ring, int num_axes, std::vector<Node>& done)
    : graph_(graph), ring_(std::move(ring)), done_(done), index_(rank_index(graph, ring_.axes)) {
  graph_.value(index_).placement.resize(static_cast<size_t>(num_axes));
}

std::vector<ValueId> RingNodes::emitted(OpKind op, std::vector<ValueId> operands,
                                        Attributes attributes, Phase phase, ValueId about) {
  const SourceLine line = graph_.value(about).origin.line;
  std::vector<ValueId> results =
      emit(graph_, op, std::move(operands),
           {.attributes = std::move(attributes),
            .phase = phase,
            .name = fmt::format("{}.{}", graph_.value(about).name, name(op)),
            .line = line});
  done_.push_back(graph_.nodes().back());
  return results;
}

ValueId RingNodes::shift(ValueId value, Phase phase) {
  return emitted(OpKind::shift, {value}, {{"axes", ring_.axes}, {"ranks", ring_.ranks}}, phase,
                 value)
      .front();
}

ValueId RingNodes::piece(ValueId whole, int64_t hop, Phase phase) {
  ValueId& known = pieces_.try_emplace({whole, hop}, kNone).first->second;
  if (known == kNone)
    known = emitted(OpKind::take_piece, {whole, index_},
                    {{"ranks", ring_.ranks}, {"dim", ring_.dim}, {"hop", hop}}, phase, whole)
                .front();
  return known;
}

std::vector<ValueId> RingNodes::repeat(const Node& node, std::vector<ValueId> operands) {
  return emitted(node.op, std::move(operands), node.attributes, node.phase, node.results[0]);
}

void RingNodes::join(ValueId result, const std::vector<ValueId>& pieces, Phase phase) {
  Node node{.op = OpKind::join_pieces,
            .attributes = {{"dim", ring_.dim}},
            .operands = {index_},
            .results = {result},
            .phase = phase,
            .workspace = {}};
  node.operands.insert(node.operands.end(), pieces.begin(), pieces.end());
  graph_.value(result).origin.changed = true;
  done_.push_back(std::move(node));
}

void RingNodes::add(ValueId result, ValueId x, ValueId y, Phase phase) {
  graph_.value(result).origin.changed = true;
  done_.push_back({.op = OpKind::add,
                   .attributes = complete_attributes(OpKind::add, {}),
                   .operands = {x, y},
                   .results = {result},
                   .phase = phase,
                   .workspace = {}});
}

ValueId RingNodes::added(ValueId x, ValueId y, Phase phase) {
  return emitted(OpKind::add, {x, y}, {}, phase, y).front();
}

}  // namespace tessera
