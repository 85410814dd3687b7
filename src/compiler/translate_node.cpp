// SPDX-License-Identifier: Apache-2.0
#include "compiler/translate_node.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "ir/op_def.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

std::optional<CollectiveOp> collective_of(OpKind op) {
  switch (op) {
    case OpKind::all_gather:
      return CollectiveOp::AllGather;
    case OpKind::reduce_scatter:
      return CollectiveOp::ReduceScatter;
    case OpKind::all_reduce:
      return CollectiveOp::AllReduce;
    case OpKind::all_to_all:
      return CollectiveOp::AllToAll;
    case OpKind::shift:
      return CollectiveOp::Shift;
    case OpKind::gather_ends:
      return CollectiveOp::AllGather;
    case OpKind::put_rows:
      return CollectiveOp::PutRows;
    case OpKind::take_rows:
      return CollectiveOp::TakeRows;
    default:
      return std::nullopt;
  }
}

bool is_alone(const Node& node) { return node.attributes.integer("ranks") == 1; }

// A group of one has no axes, whatever the node names.
std::string_view group_text(const Node& node) {
  return is_alone(node) ? std::string_view{} : node.attributes.word("axes");
}

GroupId find_group(const Node& node, std::span<const Group> groups) {
  const auto found = std::ranges::find(groups, group_text(node), &Group::name);
  TESSERA_CHECK(found != groups.end(), "no group {}", group_text(node));
  TESSERA_CHECK(found->size == node.attributes.integer("ranks"), "{} of {} ranks over {}",
                name(node.op), node.attributes.integer("ranks"), found->name);
  return static_cast<GroupId>(found - groups.begin());
}

CollectiveInstruction translate_collective(const Node& node, CollectiveOp op,
                                           const TensorType& input, std::span<const Group> groups) {
  const auto dim = [&](std::string_view attribute) {
    return input.index_of(node.attributes.word(attribute));
  };
  CollectiveInstruction collective{.op = op,
                                   .group = find_group(node, groups),
                                   .async = node.attributes.integer("async") != 0,
                                   .input = node.operands[0],
                                   .output = node.results[0]};
  switch (op) {
    case CollectiveOp::AllGather:
      collective.join = node.op == OpKind::gather_ends ? 0 : dim("dim");
      break;
    case CollectiveOp::ReduceScatter:
      collective.split = dim("dim");
      break;
    case CollectiveOp::AllReduce:
      collective.reduction = reduction_from_name(node.attributes.word("reduction")).value();
      break;
    case CollectiveOp::AllToAll:
      collective.split = dim("split");
      collective.join = dim("join");
      break;
    case CollectiveOp::Shift:
      break;
    case CollectiveOp::PutRows:
    case CollectiveOp::TakeRows:
      collective.with_ends = {node.operands[0], node.operands[1]};
      collective.most_rows = node.attributes.integer("most");
      break;
  }
  return collective;
}

// "3-5+9-12", or "none".
std::vector<ElementRange> parse_ranges(const std::string& text, const TensorType& type) {
  std::vector<ElementRange> ranges;
  if (text == "none") return ranges;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    ElementRange range;
    at = std::from_chars(at, end, range.begin).ptr;
    TESSERA_CHECK(at < end && *at == '-', "gaps {}", text);
    at = std::from_chars(at + 1, end, range.end).ptr;
    TESSERA_CHECK(
        range.begin <= range.end && range.end <= type.num_elements() && (at == end || *at == '+'),
        "gaps {} of {}", text, to_string(type));
    if (range.begin < range.end) ranges.push_back(range);
    ++at;
  }
  return ranges;
}

}  // namespace

void add_groups(const Graph& graph, const Mesh& mesh, std::vector<Group>& groups) {
  for (const Node& node : graph.nodes()) {
    if (!collective_of(node.op)) continue;
    const std::string_view text = group_text(node);
    const auto at = std::ranges::lower_bound(groups, text, {}, &Group::name);
    if (at == groups.end() || at->name != text) groups.insert(at, parse_group(mesh, text));
  }
}

Instruction translate_node(const Node& node, std::span<const TensorType> operands,
                           std::span<const Group> groups) {
  Instruction instruction{.what = CopyInstruction{},
                          .phase = node.phase,
                          .workspace_offset = node.workspace.offset,
                          .workspace_bytes = node.workspace.bytes};
  if (const auto op = collective_of(node.op))
    instruction.what = translate_collective(node, *op, operands[0], groups);
  else if (node.op == OpKind::wait)
    instruction.what = WaitInstruction{.held = {node.operands.begin(), node.operands.end()},
                                       .output = node.results[0]};
  else if (node.op == OpKind::copy)
    instruction.what = CopyInstruction{.input = node.operands[0],
                                       .output = node.results[0],
                                       .async = node.attributes.integer("async") != 0};
  else if (node.op == OpKind::clear_gaps)
    instruction.what =
        ClearInstruction{.input = node.operands[0],
                         .output = node.results[0],
                         .ranges = parse_ranges(node.attributes.word("gaps"), operands[0])};
  else
    instruction.what = KernelInstruction{.op = node.op,
                                         .attributes = node.attributes,
                                         .operands = {node.operands.begin(), node.operands.end()},
                                         .results = {node.results.begin(), node.results.end()}};
  return instruction;
}

}  // namespace tessera
