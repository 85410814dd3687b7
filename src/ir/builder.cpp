// SPDX-License-Identifier: Apache-2.0
#include "ir/builder.h"

#include "ir/verifier.h"

namespace tessera {

const TensorType& Tensor::type() const { return block->graph().value(id).type; }

Tensor BlockBuilder::input(GraphInput input, std::string name, TensorType type, SourceLine at) {
  const ValueId id = graph_.add_input(std::move(input), std::move(name), std::move(type));
  graph_.value(id).origin.line = at;
  return {this, id};
}

Tensor BlockBuilder::stream(std::string name, Dims dims, SourceLine at) {
  return input({.kind = InputKind::Stream, .value = kNone, .state = {}}, std::move(name),
               {compute_, std::move(dims)}, at);
}

Tensor BlockBuilder::batch(std::string name, Dims dims, DType dtype, SourceLine at) {
  return input({.kind = InputKind::Batch, .value = kNone, .state = {}}, std::move(name),
               {dtype, std::move(dims)}, at);
}

Tensor BlockBuilder::step(std::string name, SourceLine at) {
  if (const GraphInput* known = graph_.find_input(InputKind::Step, name))
    return {this, known->value};
  return input({.kind = InputKind::Step, .value = kNone, .state = {}}, std::move(name),
               scalar(DType::Fp64), at);
}

Tensor BlockBuilder::parameter(std::string name, Dims dims, Init init, SourceLine at) {
  const bool decay = dims.size() >= 2;
  return parameter(std::move(name), std::move(dims), init, decay, at);
}

Tensor BlockBuilder::parameter(std::string name, Dims dims, Init init, bool decay, SourceLine at) {
  StateSpec spec{
      .role = StateRole::Parameter, .init = init, .decay = decay, .tied = false, .parameter = {}};
  return input({.kind = InputKind::State, .value = kNone, .state = std::move(spec)},
               std::move(name), {compute_, std::move(dims)}, at);
}

Tensor BlockBuilder::matrix(std::string name, std::string shape, Dims dims, Init init,
                            SourceLine at) {
  TESSERA_CHECK(shape.size() == dims.size(), "{}: {} dims, {} letters", name, dims.size(),
                shape.size());
  const Tensor weights = parameter(std::move(name), std::move(dims), init, true, at);
  graph_.inputs().back().state->matrix = std::move(shape);
  return weights;
}

Tensor BlockBuilder::balanced_bias(std::string name, Dims dims, double rate, SourceLine at) {
  const Tensor bias = parameter(std::move(name), std::move(dims), zeros(), false, at);
  graph_.inputs().back().state->balance_rate = rate;
  graph_.value(bias.id).type.dtype = accumulator_of(compute_);
  return bias;
}

Tensor BlockBuilder::cache(std::string name, Dims dims, SourceLine at) {
  return input(
      {.kind = InputKind::State, .value = kNone, .state = StateSpec{.role = StateRole::Cache}},
      std::move(name), {compute_, std::move(dims)}, at);
}

std::vector<Tensor> BlockBuilder::emit(OpKind op, std::vector<Tensor> operands, EmitOptions options,
                                       SourceLine at) {
  options.line = at;
  std::vector<ValueId> ids;
  for (const Tensor& operand : operands) {
    TESSERA_CHECK(operand.block == this, "{}: an operand belongs to another block",
                  tessera::name(op));
    ids.push_back(operand.id);
  }
  std::vector<Tensor> results;
  for (const ValueId id : tessera::emit(graph_, op, std::move(ids), std::move(options)))
    results.push_back({this, id});
  return results;
}

void BlockBuilder::returns(Tensor stream) {
  graph_.add_output(
      {.kind = OutputKind::Stream, .value = stream.id, .target = {}, .accumulates = false});
}

void BlockBuilder::returns_step(std::string name, Tensor value) {
  graph_.add_output({.kind = OutputKind::Step,
                     .value = value.id,
                     .target = std::move(name),
                     .accumulates = true});
}

void BlockBuilder::returns_state(std::string name, Tensor value) {
  graph_.add_output({.kind = OutputKind::State, .value = value.id, .target = std::move(name)});
}

BlockBuilder& ModuleBuilder::block_class(std::string name) {
  classes_.push_back(std::make_unique<BlockBuilder>(std::move(name), compute_));
  return *classes_.back();
}

void ModuleBuilder::block(std::string name, const std::string& class_name,
                          std::vector<std::pair<std::string, std::string>> ties) {
  int index = kNone;
  for (size_t i = 0; i < classes_.size(); ++i)
    if (classes_[i]->name() == class_name) index = static_cast<int>(i);
  if (index == kNone) throw user_error("block {}: there is no block class {}", name, class_name);
  for (GraphInput& input : classes_[static_cast<size_t>(index)]->graph().inputs())
    for (const auto& [parameter, state] : ties)
      if (input.state &&
          classes_[static_cast<size_t>(index)]->graph().value(input.value).name == parameter)
        input.state->tied = true;
  module_.blocks.push_back(
      {.name = std::move(name), .class_index = index, .ties = std::move(ties)});
}

Module ModuleBuilder::build() {
  for (auto& block_class : classes_)
    module_.classes.push_back(
        {.name = block_class->name(), .graph = std::move(block_class->graph()), .slot_bytes = 0});
  verify(module_);
  return std::move(module_);
}

}  // namespace tessera
