// SPDX-License-Identifier: Apache-2.0
// The questions every op answers, in `ops/<folder>/<op>.cpp`. The passes ask only these; no pass
// knows an op by name unless it exists to introduce it. Defined by the table in ops/, declared here
// because the graph's builder and verifier ask too.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/device_kind.h"
#include "ir/graph.h"

namespace tessera {

// One use of an op, as types: enough to infer, to cost and to size a workspace.
struct OpCall {
  OpKind op;
  const Attributes& attributes;
  std::span<const TensorType> operands;
  std::span<const TensorType> results;  // empty while inferring

  const TensorType& operand(size_t i) const { return operands[i]; }
  const TensorType& result(size_t i) const { return results[i]; }

  // Throws a UserError that opens with the op's name.
  template <typename... Args>
  void require(bool condition, fmt::format_string<Args...> format, Args&&... args) const {
    if (!condition) fail(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const;
};

struct Cost {
  int64_t flops = 0;
  int64_t bytes = 0;  // read and written, each operand and result once
};
int64_t bytes_of(std::span<const TensorType> types);
Cost pointwise_cost(const OpCall& call, int64_t flops_per_element);  // over result 0

// Builds the gradient of one node. `set` gives an operand's gradient; nodes emitted for a parameter
// are weight_grad, others input_grad.
class GradientBuilder {
 public:
  GradientBuilder(Graph& graph, NodeId node, std::span<const ValueId> result_gradients);

  ValueId operand(size_t i) const;  // kNone when optional and absent
  ValueId result(size_t i) const;
  ValueId result_gradient(size_t i) const;  // kNone when nothing downstream needs result i
  const Attributes& attributes() const;
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  bool needs(size_t i) const;  // does operand i need a gradient?
  bool is_parameter(size_t i) const;
  DType gradient_dtype(size_t i) const;  // of parameters: the dtype that it is kept in

  // Emits a node whose purpose is the gradient of operand i (or, with kBoth, of inputs and
  // parameters at once).
  static constexpr size_t kBoth = static_cast<size_t>(-1);
  std::vector<ValueId> emit(size_t for_operand, OpKind op, std::vector<ValueId> operands,
                            Attributes attributes = {});
  void set(size_t operand, ValueId gradient);
  // For ops whose gradient node also yields their results: `value` stands in for result i in the
  // training step.
  void set_result(size_t result, ValueId value);

  const std::vector<ValueId>& operand_gradients() const { return operand_gradients_; }
  const std::vector<ValueId>& result_stand_ins() const { return result_stand_ins_; }

 private:
  Graph& graph_;
  NodeId node_;
  std::vector<ValueId> result_gradients_, operand_gradients_, result_stand_ins_;
};

struct OperandSpec {
  std::string_view name;
  bool optional = false;  // only trailing operands may be absent
};

struct AttributeSpec {
  std::string_view name;
  Attribute fallback;             // also gives the type
  std::string_view size_of = {};  // the dim that it is the size of: on a rank, the local one
};

struct InPlace {
  size_t result, operand;  // the result may be written over the operand, if nobody reads that later
};

// How an op's dims may be split over ranks. Every dim that an operand or result has is a factor:
// operands and results that have it are split, operands without it are whole, results without it
// are pending sums.
struct ShardingRule {
  std::vector<std::string> whole = {};       // dims that must stay whole
  std::vector<std::string> expandable = {};  // dims that are split by `expand` alone
  // Results without an expandable dim that come out whole, not pending.
  std::vector<size_t> whole_results = {};
  // The op moves rows between tokens and a pool (ir/pool.h): both sides are split freely, each
  // along its own dims.
  bool free = false;
};

// Builds, from local operands, what one rank does when an expandable dim is split.
class ExpansionBuilder {
 public:
  ExpansionBuilder(Graph& graph, const Node& node, std::vector<ValueId> operands, Dim dim,
                   std::string axes, int ranks, ValueId index)
      : graph_(graph),
        node_(node),
        operands_(std::move(operands)),
        dim_(std::move(dim)),
        axes_(std::move(axes)),
        ranks_(ranks),
        index_(index) {}

  ValueId operand(size_t i) const { return i < operands_.size() ? operands_[i] : kNone; }
  const std::vector<ValueId>& operands() const { return operands_; }
  const TensorType& type(ValueId id) const { return graph_.value(id).type; }
  const Attributes& attributes() const { return node_.attributes; }
  int64_t whole_size() const { return dim_.size; }  // of the dim that is split, over all ranks
  int ranks() const { return ranks_; }
  ValueId index() const { return index_; }  // this rank's, among those that split the dim

  std::vector<ValueId> emit(OpKind op, std::vector<ValueId> operands, Attributes attributes = {});
  ValueId all_reduce(ValueId value, std::string_view reduction);
  // What the previous rank of the ring has.
  ValueId shift(ValueId value);

 private:
  Graph& graph_;
  const Node& node_;
  std::vector<ValueId> operands_;
  Dim dim_;
  std::string axes_;
  int ranks_;
  ValueId index_;
};

struct OpDef {
  std::string_view name;
  std::string_view summary;  // one line; becomes docs/ops.md
  std::vector<OperandSpec> operands;
  std::vector<std::string_view> results;  // the most it can have
  std::vector<AttributeSpec> attributes = {};
  std::vector<TensorType> (*infer_types)(const OpCall&) = nullptr;
  void (*gradient)(GradientBuilder&) = nullptr;  // null: not differentiable
  bool gradient_yields_results = false;          // the forward node then runs only in `evaluate`
  Cost (*cost)(const OpCall&) = nullptr;
  int64_t (*workspace_bytes)(const OpCall&, const DeviceProfile&) = nullptr;  // null: none
  // Its results stand for operand 0 in fewer bytes: kept for the backward where what takes more
  // would be recomputed.
  bool shrinks = false;
  std::vector<InPlace> in_place = {};
  bool aliases = false;                  // result 0 is operand 0's buffer, always
  std::vector<size_t> accumulates = {};  // results that the kernel can add into
  bool accumulates_largest = false;      // it keeps the larger of both there instead of their sum
  ShardingRule (*sharding)(const OpCall&) = nullptr;  // null: every dim may be split
  bool passes_pending = false;  // of sums that are all pending, gives a pending sum
  std::vector<size_t> whole_beside_pending = {};  // operands that may be whole then
  // Operands that each rank reads as it has them, though they lie as a pending sum.
  std::vector<size_t> reads_own = {};
  bool communicates = false;  // all ranks along attribute `axes` take part
  // The results, in order, where expandable dims are split; null: it has none.
  std::vector<ValueId> (*expand)(ExpansionBuilder&) = nullptr;
};

const OpDef& op_def(OpKind op);

}  // namespace tessera
