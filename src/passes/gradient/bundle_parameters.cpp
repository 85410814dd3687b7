// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/bundle_parameters.h"

#include <algorithm>

#include "ir/optimizer.h"

namespace tessera {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

AxisIds split_axes(const Placement& placement) {
  AxisIds axes;
  for (size_t i = 0; i < placement.size(); ++i)
    if (placement[i].kind == AxisPlacement::Kind::Shard) axes.push_back(static_cast<int>(i));
  return axes;
}

// Those that split rows or columns, where the parameter's optimizer takes whole matrices.
AxisIds cutting_axes(const StateSpec& state, const Value& parameter) {
  AxisIds axes;
  if (!optimizer_of(state).takes_matrices()) return axes;
  for (size_t i = 0; i < parameter.type.dims.size(); ++i)
    if (state.matrix[i] != 's')
      for (const int axis : shard_axes(parameter.placement, parameter.type.dims[i].name))
        axes.push_back(axis);
  std::ranges::sort(axes);
  return axes;
}

struct Member {
  const GraphInput* input;
  const Value* parameter;
  AxisIds pending, split, cut = {};
};

std::vector<Member> trained_parameters(const Graph& graph) {
  std::vector<Member> found;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::Gradient) continue;
    const GraphInput* input = graph.find_input(InputKind::State, output.target);
    if (input->state->tied) continue;
    const Value& parameter = graph.value(input->value);
    found.push_back({.input = input,
                     .parameter = &parameter,
                     .pending = partial_axes(graph.value(output.value).placement),
                     .split = split_axes(parameter.placement),
                     .cut = cutting_axes(*input->state, parameter)});
  }
  // Those that decay come first, so that one number tells them apart.
  std::stable_partition(found.begin(), found.end(),
                        [](const Member& t) { return t.input->state->decay; });
  return found;
}

std::vector<Member> owned_parameters(const Graph& graph, bool frozen_alone) {
  std::vector<Member> found;
  for (const GraphInput& input : graph.inputs()) {
    if (input.kind != InputKind::State || input.state->tied) continue;
    if (frozen_alone && !input.state->frozen) continue;
    const Value& parameter = graph.value(input.value);
    found.push_back({.input = &input,
                     .parameter = &parameter,
                     .pending = {},
                     .split = split_axes(parameter.placement)});
  }
  return found;
}

void append(BundlePlan& plan, const Member& member) {
  Bundle& bundle = plan.bundle;
  bundle.elements = round_up(bundle.elements, kFlatAlignment);
  bundle.parameters.push_back(member.parameter->name);
  bundle.begins.push_back(bundle.elements);
  plan.sizes.push_back(member.parameter->type.num_elements());
  bundle.elements += plan.sizes.back();
  if (member.input->state->decay) plan.decayed = bundle.elements;
}

// The axes that its states at rest are sharded over: of the plan's those along which ranks hold the
// same parameters and, where they are trained, parts of the sum of gradients.
AxisIds rest_axes(const BundlePlan& bundle, const Plan& plan, bool trained) {
  const auto contains = [](const AxisIds& axes, int axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  AxisIds axes = plan.shard_axes;
  std::erase_if(axes, [&](int axis) {
    return contains(bundle.split, axis) || (trained && !contains(bundle.pending, axis));
  });
  return axes;
}

std::vector<BundlePlan> bundle(const std::vector<Member>& members, const Plan& plan, bool trained) {
  std::vector<BundlePlan> bundles;
  for (const Member& member : members) {
    auto found = std::find_if(bundles.begin(), bundles.end(), [&](const BundlePlan& b) {
      return b.pending == member.pending && b.split == member.split && b.cut == member.cut &&
             b.optimizer == member.input->state->optimizer &&
             b.group == member.input->state->group && b.joined == member.input->state->joined &&
             b.dtype == member.parameter->type.dtype;
    });
    if (found == bundles.end()) {
      BundlePlan fresh;
      fresh.bundle.name = fmt::format("bundle{}", bundles.size());
      fresh.dtype = member.parameter->type.dtype;
      fresh.kept = kept_dtype(*member.input->state, fresh.dtype);
      fresh.pending = member.pending;
      fresh.split = member.split;
      fresh.cut = member.cut;
      fresh.optimizer = member.input->state->optimizer;
      fresh.group = member.input->state->group;
      fresh.joined = member.input->state->joined;
      fresh.replica = member.input->state->replica;
      bundles.push_back(std::move(fresh));
      found = bundles.end() - 1;
    }
    append(*found, member);
  }
  for (BundlePlan& b : bundles) {
    b.bundle.rest = rest_axes(b, plan, trained);
    b.bundle.shards = plan.mesh.size(b.bundle.rest);
    b.bundle.elements = round_up(b.bundle.elements, kFlatAlignment * b.bundle.shards);
  }
  return bundles;
}

}  // namespace

std::string BundlePlan::gaps() const {
  std::string text;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t end = bundle.begins[i] + sizes[i];
    const int64_t next = i + 1 < sizes.size() ? bundle.begins[i + 1] : bundle.elements;
    if (end < next) text += fmt::format("{}{}-{}", text.empty() ? "" : "+", end, next);
  }
  return text.empty() ? "none" : text;
}

std::vector<BundlePlan> bundle_parameters(const BlockClass& block_class, const Plan& plan) {
  return bundle(trained_parameters(block_class.graph), plan, true);
}

std::vector<BundlePlan> bundle_weights(const BlockClass& block_class, const Plan& plan) {
  return bundle(owned_parameters(block_class.graph, false), plan, false);
}

std::vector<BundlePlan> bundle_frozen(const BlockClass& block_class, const Plan& plan) {
  std::vector<BundlePlan> bundles = bundle(owned_parameters(block_class.graph, true), plan, false);
  for (size_t i = 0; i < bundles.size(); ++i) bundles[i].bundle.name = fmt::format("frozen{}", i);
  return bundles;
}

}  // namespace tessera
