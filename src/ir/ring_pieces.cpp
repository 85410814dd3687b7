// SPDX-License-Identifier: Apache-2.0
#include "ir/ring_pieces.h"

#include "ir/op_list.h"
#include "mesh/group.h"

namespace tessera {

const RingPieces::Piece* RingPieces::piece(ValueId value) const {
  const auto found = pieces_.find(value);
  return found == pieces_.end() ? nullptr : &found->second;
}

int64_t RingPieces::ranks(const std::string& axes) const {
  return mesh_.size(mesh_.parse_word(axes));
}

std::string RingPieces::follow(const Node& node) {
  switch (node.op) {
    case OpKind::take_piece:
      pieces_[node.results[0]] = {.axes = graph_.value(node.operands[1]).name,
                                  .dim = node.attributes.word("dim"),
                                  .hop = node.attributes.integer("hop"),
                                  .terms = 1};
      return "";
    case OpKind::shift: {
      const std::string& axes = node.attributes.word("axes");
      Piece passed{.axes = axes};
      if (const Piece* own = piece(node.operands[0]); own && own->axes == axes) passed = *own;
      passed.hop = (passed.hop + 1) % ranks(axes);
      passed.terms <<= 1;
      pieces_[node.results[0]] = passed;
      return "";
    }
    case OpKind::join_pieces:
      return follow_join(node);
    case OpKind::add:
    case OpKind::accumulate:
    case OpKind::matmul:
    case OpKind::matmul_epilogue:
    case OpKind::matmul_fp8:
    case OpKind::wait:
      return follow_kernel(node);
    default:
      return "";
  }
}

std::string RingPieces::follow_join(const Node& node) {
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Piece* own = piece(node.operands[i]);
    const int64_t hop = own ? own->hop : 0, wanted = static_cast<int64_t>(i) - 1;
    if (hop != wanted)
      return fmt::format("is the piece of {} ranks before, but is put where that of {} belongs",
                         hop, wanted);
  }
  return "";
}

// Its results are of the same piece as what it reads. What a ring of attention adds is not
// followed.
std::string RingPieces::follow_kernel(const Node& node) {
  std::optional<Piece> result;
  bool all = true;
  const size_t read = node.op == OpKind::wait ? 1 : node.operands.size();
  for (size_t i = 0; i < read; ++i) {
    const Piece* own = piece(node.operands[i]);
    if (!own) {
      all = false;
      continue;
    }
    if (result && (result->hop != own->hop || result->axes != own->axes)) {
      if ((result->terms | own->terms) == 0) return "";
      return fmt::format("is the piece of {} ranks before, and is added to that of {}", own->hop,
                         result->hop);
    }
    if (result) result->terms |= own->terms;
    if (!result) result = *own;
    if (result->dim.empty()) result->dim = own->dim;
  }
  if (!result || (node.op == OpKind::add && !all)) return "";
  for (const ValueId id : node.results) pieces_[id] = *result;
  return "";
}

std::optional<RingPieces::Sum> RingPieces::whole_sum(ValueId value) const {
  const Piece* own = piece(value);
  if (!own || own->dim.empty() || own->hop != 0) return std::nullopt;
  if (own->terms != (uint64_t{1} << ranks(own->axes)) - 1) return std::nullopt;
  return Sum{parse_group(mesh_, own->axes).axes, own->dim};
}

}  // namespace tessera
