// SPDX-License-Identifier: Apache-2.0
// Patterns: matmuls that read an all_gather, which share its hops, and the reduce_scatter of a
// matmul or of a sum of several; in the backward only where no weight gradient runs beside it.
// After all fusions and recomputations, so that their epilogues and clones are cut as well.
#include "passes/overlap/ring_matmuls.h"

#include <algorithm>
#include <set>

#include "ir/op_list.h"
#include "ir/verifier.h"
#include "ops/collective/join_pieces.h"
#include "passes/overlap/ring_nodes.h"

namespace tessera {
namespace {

// A value cut into pieces that travel, and the matmuls that read it.
struct Gather {
  ValueId own;  // this rank's piece
  std::vector<NodeId> products = {};
  bool joined = false;  // somebody else reads it whole
};

// Matmuls, and what adds their results up, before the sum is scattered.
struct Scatter {
  std::set<NodeId> nodes;  // in their order
};

class ClassRings {
 public:
  ClassRings(Graph& graph, const Module& module)
      : graph_(graph),
        num_axes_(module.mesh.num_axes()),
        gradients_hide_sums_(!module.split_backward),
        nodes_(graph.nodes()),
        readers_(graph.readers()) {
    for (const GraphOutput& output : graph.outputs()) returned_.insert(output.value);
    replaced_.assign(nodes_.size(), false);
  }

  void run() {
    for (NodeId id = 0; id < std::ssize(nodes_); ++id) {
      if (nodes_[static_cast<size_t>(id)].op == OpKind::all_gather) find_gather(id);
      if (nodes_[static_cast<size_t>(id)].op == OpKind::reduce_scatter) find_scatter(id);
    }
    if (gathers_.empty() && scatters_.empty()) return;
    for (NodeId id = 0; id < std::ssize(nodes_); ++id) {
      if (const auto found = gathers_.find(id); found != gathers_.end())
        emit_gather(node(id), found->second);
      else if (const auto sums = scatters_.find(id); sums != scatters_.end())
        emit_scatter(node(id), sums->second);
      else if (!replaced_[static_cast<size_t>(id)])
        done_.push_back(node(id));
    }
    graph_.rebuild(std::move(done_));
  }

  int64_t gathers() const { return std::ssize(gathers_); }
  int64_t scatters() const { return std::ssize(scatters_); }

 private:
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }

  // Scales of tiles and blocks are not those of a piece.
  bool is_product(const Node& node) const {
    if (node.op == OpKind::matmul_fp8)
      return graph_.value(node.operands[2]).type.dims.empty() &&
             graph_.value(node.operands[3]).type.dims.empty();
    return node.op == OpKind::matmul || node.op == OpKind::matmul_epilogue;
  }
  void replace(NodeId id) { replaced_[static_cast<size_t>(id)] = true; }
  const std::vector<NodeId>& readers(ValueId value) const {
    return readers_[static_cast<size_t>(value)];
  }
  bool has_dim(ValueId value, const std::string& dim) const {
    return graph_.value(value).type.has(dim);
  }

  // The node that makes the value for one other node alone, in the same phase.
  NodeId own_maker(ValueId value, Phase phase) const {
    const NodeId maker = graph_.value(value).producer;
    const bool own = maker != kNone && readers(value).size() == 1 && !returned_.contains(value) &&
                     node(maker).phase == phase && !replaced_[static_cast<size_t>(maker)];
    return own ? maker : kNone;
  }

  // Two steps along the same dim, as of an axis that is split in two, are one ring; `outer` is over
  // the major axes. Nothing: it is not cut.
  static std::optional<Ring> ring_of(const Node& outer, const Node* inner) {
    Ring ring{.axes = outer.attributes.word("axes"),
              .ranks = outer.attributes.integer("ranks"),
              .dim = outer.attributes.word("dim")};
    if (inner) {
      ring.axes += "+" + inner->attributes.word("axes");
      ring.ranks *= inner->attributes.integer("ranks");
    }
    if (ring.ranks < 2 || ring.ranks > static_cast<int64_t>(kMostPieces)) return std::nullopt;
    return ring;
  }

  const Node* step_before(const Node& step) const {
    const NodeId before = own_maker(step.operands[0], step.phase);
    const bool same = before != kNone && node(before).op == step.op &&
                      node(before).attributes.word("dim") == step.attributes.word("dim");
    return same ? &node(before) : nullptr;
  }

  void find_gather(NodeId id) {
    const Node& gather = node(id);
    const Node* before = step_before(gather);
    const std::optional<Ring> ring = ring_of(gather, before);
    if (!ring) return;
    Gather found{.own = before ? before->operands[0] : gather.operands[0],
                 .joined = returned_.contains(gather.results[0])};
    for (const NodeId reader : readers(gather.results[0]))
      if (multiplies_pieces(id, reader, ring->dim))
        found.products.push_back(reader);
      else
        found.joined = true;
    if (found.products.empty()) return;
    if (before) replace(graph_.value(before->results[0]).producer);
    for (const NodeId product : found.products) replace(product);
    rings_.emplace(id, *ring);
    gathers_.emplace(id, std::move(found));
  }

  // Row by row, with what is there when the gather starts.
  bool multiplies_pieces(NodeId gather, NodeId reader, const std::string& dim) const {
    const Node& product = node(reader);
    const ValueId whole = node(gather).results[0];
    if (!is_product(product) || product.phase != node(gather).phase ||
        product.operands[0] != whole || std::ranges::count(product.operands, whole) != 1)
      return false;
    const auto adds_up = [&](ValueId id) {
      return std::ranges::any_of(graph_.outputs(), [&](const GraphOutput& output) {
        return output.value == id && output.accumulates;
      });
    };
    const auto is_ready = [&](ValueId id) {
      return id == whole || graph_.value(id).producer < gather;
    };
    return std::ranges::all_of(product.results, [&](ValueId id) { return has_dim(id, dim); }) &&
           std::ranges::none_of(product.results, adds_up) &&
           std::ranges::all_of(product.operands, is_ready);
  }

  void emit_gather(const Node& gather, const Gather& found) {
    const NodeId id = graph_.value(gather.results[0]).producer;
    RingNodes ring(graph_, rings_.at(id), num_axes_, done_);
    std::vector<ValueId> pieces{found.own};
    std::map<ValueId, std::vector<ValueId>> results;
    for (int64_t hop = 0; hop < ring.ring().ranks; ++hop) {
      if (hop + 1 < ring.ring().ranks) pieces.push_back(ring.shift(pieces.back(), gather.phase));
      for (const NodeId product : found.products) {
        const Node& whole = node(product);
        std::vector<ValueId> operands{pieces[static_cast<size_t>(hop)]};
        for (size_t i = 1; i < whole.operands.size(); ++i)
          operands.push_back(ring.has_dim(whole.operands[i])
                                 ? ring.piece(whole.operands[i], hop, whole.phase)
                                 : whole.operands[i]);
        const std::vector<ValueId> made = ring.repeat(whole, std::move(operands));
        for (size_t i = 0; i < made.size(); ++i) results[whole.results[i]].push_back(made[i]);
      }
    }
    for (const NodeId product : found.products)
      for (const ValueId result : node(product).results)
        ring.join(result, results.at(result), node(product).phase);
    if (found.joined) ring.join(gather.results[0], pieces, gather.phase);
  }

  void find_scatter(NodeId id) {
    const Node& scatter = node(id);
    if (scatter.phase == Phase::InputGrad && gradients_hide_sums_) return;
    const Node* before = step_before(scatter);
    const std::optional<Ring> ring =
        before ? ring_of(*before, &scatter) : ring_of(scatter, nullptr);
    if (!ring) return;
    Scatter found;
    collect(before ? before->operands[0] : scatter.operands[0], scatter.phase, ring->dim, found);
    const auto multiplies = [&](NodeId each) { return is_product(node(each)); };
    if (std::ranges::none_of(found.nodes, multiplies)) return;
    if (before) replace(graph_.value(before->results[0]).producer);
    for (const NodeId each : found.nodes) replace(each);
    rings_.emplace(id, *ring);
    scatters_.emplace(id, std::move(found));
  }

  void collect(ValueId value, Phase phase, const std::string& dim, Scatter& found) const {
    const NodeId maker = own_maker(value, phase);
    if (maker == kNone) return;
    const Node& made = node(maker);
    const bool adds = made.op == OpKind::add || made.op == OpKind::accumulate;
    if (!adds && !(is_product(made) && made.results.size() == 1)) return;
    found.nodes.insert(maker);
    if (!adds) return;
    for (const ValueId operand : made.operands)
      if (has_dim(operand, dim)) collect(operand, phase, dim, found);
  }

  // The piece that a rank begins with is that of the rank before it; the last one is its own. Terms
  // are added in the order in which a piece passes the ranks: the same in every run, and another
  // than that of a reduce_scatter.
  void emit_scatter(const Node& scatter, const Scatter& found) {
    const NodeId id = graph_.value(scatter.results[0]).producer;
    RingNodes ring(graph_, rings_.at(id), num_axes_, done_);
    const int64_t ranks = ring.ring().ranks;
    ValueId sum = kNone;
    for (int64_t step = 1; step <= ranks; ++step) {
      const ValueId passed = sum == kNone ? kNone : ring.shift(sum, scatter.phase);
      const ValueId own = own_terms(ring, found, step % ranks);
      if (step == ranks)
        ring.add(scatter.results[0], passed, own, scatter.phase);
      else
        sum = passed == kNone ? own : ring.added(passed, own, scatter.phase);
    }
  }

  ValueId own_terms(RingNodes& ring, const Scatter& found, int64_t hop) const {
    std::map<ValueId, ValueId> pieces;
    ValueId last = kNone;
    for (const NodeId id : found.nodes) {
      const Node& whole = node(id);
      std::vector<ValueId> operands;
      for (const ValueId operand : whole.operands)
        operands.push_back(pieces.contains(operand) ? pieces.at(operand)
                           : ring.has_dim(operand)  ? ring.piece(operand, hop, whole.phase)
                                                    : operand);
      last = pieces[whole.results[0]] = ring.repeat(whole, std::move(operands)).front();
    }
    return last;
  }

  Graph& graph_;
  int num_axes_;
  bool gradients_hide_sums_;
  const std::vector<Node> nodes_;  // as they were
  const std::vector<std::vector<NodeId>> readers_;
  std::set<ValueId> returned_;
  std::vector<bool> replaced_;
  std::map<NodeId, Ring> rings_;
  std::map<NodeId, Gather> gathers_;
  std::map<NodeId, Scatter> scatters_;
  std::vector<Node> done_;
};

}  // namespace

Pass ring_matmuls(const Plan& plan) {
  const bool wanted = plan.tp_overlap == TpOverlap::Ring;
  return {.name = "ring_matmuls",
          .summary =
              "cuts gathers before matmuls, and scattered sums after them, into pieces that travel "
              "while others are multiplied, where the plan says so",
          .requires_form = Form::Local,
          .ensures_form = Form::Local,
          .run = [wanted](Module& module) {
            int64_t gathers = 0, scatters = 0;
            if (wanted)
              for (BlockClass& block_class : module.classes) {
                ClassRings rings(block_class.graph, module);
                rings.run();
                gathers += rings.gathers();
                scatters += rings.scatters();
              }
            verify_placements(module);
            return PassCounts{{"gathers", gathers}, {"sums", scatters}};
          }};
}

}  // namespace tessera
