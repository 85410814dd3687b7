// SPDX-License-Identifier: Apache-2.0
#include "ir/op_def.h"

#include "ir/emit.h"
#include "ir/op_list.h"

namespace tessera {

void OpCall::fail(const std::string& reason) const {
  std::string place;
  for (const TensorType& type : operands) place += (place.empty() ? "" : ", ") + to_string(type);
  throw user_error("{}: {}", name(op), reason).at(fmt::format("{}({})", name(op), place));
}

int64_t bytes_of(std::span<const TensorType> types) {
  int64_t bytes = 0;
  for (const TensorType& type : types) bytes += type.bytes();
  return bytes;
}

Cost pointwise_cost(const OpCall& call, int64_t flops_per_element) {
  return {.flops = flops_per_element * call.result(0).num_elements(),
          .bytes = bytes_of(call.operands) + bytes_of(call.results)};
}

GradientBuilder::GradientBuilder(Graph& graph, NodeId node,
                                 std::span<const ValueId> result_gradients)
    : graph_(graph),
      node_(node),
      result_gradients_(result_gradients.begin(), result_gradients.end()) {
  operand_gradients_.assign(graph.node(node).operands.size(), kNone);
  result_stand_ins_.assign(graph.node(node).results.size(), kNone);
}

ValueId GradientBuilder::operand(size_t i) const {
  const Node& node = graph_.node(node_);
  return i < node.operands.size() ? node.operands[i] : kNone;
}

ValueId GradientBuilder::result(size_t i) const {
  const Node& node = graph_.node(node_);
  return i < node.results.size() ? node.results[i] : kNone;
}

ValueId GradientBuilder::result_gradient(size_t i) const {
  return i < result_gradients_.size() ? result_gradients_[i] : kNone;
}

const Attributes& GradientBuilder::attributes() const { return graph_.node(node_).attributes; }

bool GradientBuilder::is_parameter(size_t i) const {
  const ValueId id = operand(i);
  if (id == kNone) return false;
  const GraphInput* input = graph_.input_of(id);
  return input && input->kind == InputKind::State && input->state->role == StateRole::Parameter;
}

// Integers, frozen parameters and what arrives once per step or microbatch have no gradient;
// everything else on the way does.
bool GradientBuilder::needs(size_t i) const {
  const ValueId id = operand(i);
  if (id == kNone || !is_float(type(id).dtype)) return false;
  const GraphInput* input = graph_.input_of(id);
  if (!input || input->kind == InputKind::Stream) return true;
  return is_parameter(i) && !input->state->frozen;
}

DType GradientBuilder::gradient_dtype(size_t i) const {
  const DType dtype = type(operand(i)).dtype;
  return is_parameter(i) ? kept_dtype(*graph_.input_of(operand(i))->state, dtype) : dtype;
}

std::vector<ValueId> GradientBuilder::emit(size_t for_operand, OpKind op,
                                           std::vector<ValueId> operands, Attributes attributes) {
  const bool weight = for_operand != kBoth && is_parameter(for_operand);
  const std::string about = for_operand == kBoth ? std::string(name(graph_.node(node_).op))
                                                 : graph_.value(operand(for_operand)).name;
  return tessera::emit(graph_, op, std::move(operands),
                       {.attributes = std::move(attributes),
                        .phase = weight ? Phase::WeightGrad : Phase::InputGrad,
                        .name = "d_" + about,
                        .line = graph_.value(result(0)).origin.line});
}

void GradientBuilder::set(size_t operand, ValueId gradient) {
  operand_gradients_.at(operand) = gradient;
}

void GradientBuilder::set_result(size_t result, ValueId value) {
  result_stand_ins_.at(result) = value;
}

std::vector<ValueId> ExpansionBuilder::emit(OpKind op, std::vector<ValueId> operands,
                                            Attributes attributes) {
  const std::string about = node_.results.empty()
                                ? ""
                                : graph_.value(operands.front()).name + "." + std::string(name(op));
  return tessera::emit(graph_, op, std::move(operands),
                       {.attributes = std::move(attributes), .phase = node_.phase, .name = about});
}

ValueId ExpansionBuilder::all_reduce(ValueId value, std::string_view reduction) {
  return emit(OpKind::all_reduce, {value},
              {{"axes", axes_}, {"ranks", int64_t{ranks_}}, {"reduction", std::string(reduction)}})
      .front();
}

ValueId ExpansionBuilder::shift(ValueId value) {
  return emit(OpKind::shift, {value}, {{"axes", axes_}, {"ranks", int64_t{ranks_}}}).front();
}

}  // namespace tessera
