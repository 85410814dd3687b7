// SPDX-License-Identifier: Apache-2.0
#include "passes/gradient/bundle_parameters.h"

#include <algorithm>

namespace tessera {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

AxisIds split_axes(const Placement& placement) {
  AxisIds axes;
  for (size_t i = 0; i < placement.size(); ++i)
    if (placement[i].kind == AxisPlacement::Kind::Shard) axes.push_back(static_cast<int>(i));
  return axes;
}

struct Trained {
  const GraphInput* input;
  const Value* parameter;
  AxisIds pending, split;
};

std::vector<Trained> trained_parameters(const Graph& graph) {
  std::vector<Trained> found;
  for (const GraphOutput& output : graph.outputs()) {
    if (output.kind != OutputKind::Gradient) continue;
    const GraphInput* input = graph.find_input(InputKind::State, output.target);
    if (input->state->tied) continue;
    const Value& parameter = graph.value(input->value);
    found.push_back({.input = input,
                     .parameter = &parameter,
                     .pending = partial_axes(graph.value(output.value).placement),
                     .split = split_axes(parameter.placement)});
  }
  // Those that decay come first, so that one number tells them apart.
  std::stable_partition(found.begin(), found.end(),
                        [](const Trained& t) { return t.input->state->decay; });
  return found;
}

void append(BundlePlan& plan, const Trained& trained) {
  Bundle& bundle = plan.bundle;
  bundle.elements = round_up(bundle.elements, kFlatAlignment);
  bundle.parameters.push_back(trained.parameter->name);
  bundle.begins.push_back(bundle.elements);
  plan.sizes.push_back(trained.parameter->type.num_elements());
  bundle.elements += plan.sizes.back();
  if (trained.input->state->decay) plan.decayed = bundle.elements;
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
  std::vector<BundlePlan> bundles;
  for (const Trained& trained : trained_parameters(block_class.graph)) {
    auto found = std::find_if(bundles.begin(), bundles.end(), [&](const BundlePlan& b) {
      return b.pending == trained.pending && b.split == trained.split &&
             b.joined == trained.input->state->joined && b.dtype == trained.parameter->type.dtype;
    });
    if (found == bundles.end()) {
      BundlePlan fresh;
      fresh.bundle.name = fmt::format("bundle{}", bundles.size());
      fresh.dtype = trained.parameter->type.dtype;
      fresh.kept = kept_dtype(*trained.input->state, fresh.dtype);
      fresh.pending = trained.pending;
      fresh.split = trained.split;
      fresh.joined = trained.input->state->joined;
      fresh.replica = trained.input->state->replica;
      bundles.push_back(std::move(fresh));
      found = bundles.end() - 1;
    }
    append(*found, trained);
  }
  for (BundlePlan& b : bundles) {
    const auto shards = plan.shard_axis < 0 ? 1 : plan.mesh.size(plan.shard_axis);
    b.bundle.shards = shards;
    b.bundle.elements = round_up(b.bundle.elements, kFlatAlignment * shards);
  }
  return bundles;
}

}  // namespace tessera
