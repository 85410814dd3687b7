// SPDX-License-Identifier: Apache-2.0
// The question `placements`: the tensors of a run and, of one of them, what each rank holds in use
// and at rest.
#include "config/compile_step.h"
#include "core/choices.h"
#include "studio/asked_run.h"
#include "studio/held_parts.h"
#include "studio/kinds.h"
#include "studio/placements_json.h"
#include "studio/question_fields.h"
#include "studio/simulated_step.h"

namespace tessera {
namespace {

constexpr int kMostRanksShown = 1 << 17;
constexpr size_t kMostTensors = 20'000;

Json dims_json(const Dims& dims) {
  Json json = Json::array();
  for (const Dim& dim : dims) json.push_back({{"name", dim.name}, {"size", dim.size}});
  return json;
}

Json tensor_json(const HostView& view, const StateBuffer& state) {
  Json json{{"name", state.name},
            {"role", role_name(state.spec)},
            {"dtype", name(state.type.dtype)},
            {"dims", dims_json(state.type.dims)},
            {"bytes", state.type.bytes()},
            {"on", to_string(view.mesh, state.placement)}};
  if (!state.place.shard_axes.empty()) json["shard_axes"] = view.mesh.word(state.place.shard_axes);
  if (state.has_gradient()) json["gradient_shard_axes"] = view.mesh.word(state.gradient.shard_axes);
  if (!state.spec.parameter.empty()) json["parameter"] = state.spec.parameter;
  return json;
}

Json axes_json(const Mesh& mesh, const Cluster& cluster) {
  Json axes = Json::array();
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const std::vector<int> group = mesh.group(0, AxisIds{axis});
    const int spanned = group.empty() ? 1 : group.back() - group.front() + 1;
    std::string level;
    for (const Level& each : cluster.levels)
      if (level.empty() && (each.ranks >= spanned || &each == &cluster.levels.back()))
        level = each.name;
    axes.push_back({{"name", mesh.axes()[static_cast<size_t>(axis)].name},
                    {"size", mesh.size(axis)},
                    {"stride", group.size() > 1 ? group[1] - group[0] : 1},
                    {"level", level}});
  }
  return axes;
}

Json stretches_json(const HeldStretches& held) {
  Json list = Json::array();
  for (const HeldStretch& each : held.stretches)
    list.push_back({{"box", each.box}, {"begin", each.begin}, {"end", each.end}});
  return {{"stretches", list}, {"of_rank", held.of_rank}};
}

void add_held(Json& json, const std::vector<Program>& programs, const StateBuffer& state) {
  const HeldBoxes boxes = boxes_in_use(programs, state);
  Json list = Json::array();
  for (const HeldBox& box : boxes.boxes)
    list.push_back({{"first", box.first}, {"count", box.count}});
  json["in_use"] = Json{{"boxes", list}, {"of_rank", boxes.of_rank}};
  json["at_rest"] = stretches_json(stretches_at_rest(programs, state, boxes, false));
  if (state.has_gradient())
    json["gradient"] = stretches_json(stretches_at_rest(programs, state, boxes, true));
}

}  // namespace

Json placements_json(const std::vector<Program>& programs, const Cluster& cluster,
                     const std::optional<std::string>& wanted) {
  const HostView view = view_of(programs);
  if (view.mesh.num_ranks() > kMostRanksShown)
    throw user_error("the mesh has {} ranks, more than {} at once", view.mesh.num_ranks(),
                     kMostRanksShown)
        .at("mesh")
        .help("ask for a smaller mesh");
  Json json{{"ranks", view.mesh.num_ranks()}, {"axes", axes_json(view.mesh, cluster)}};
  if (wanted) {
    const StateBuffer* state = view.find_state(*wanted);
    if (!state) {
      std::vector<std::string> names;
      for (const StateBuffer& each : view.states) names.push_back(each.name);
      const std::string near = nearest_name(*wanted, names);
      throw user_error("there is no tensor {}{}", *wanted,
                       near.empty() ? "" : ": did you mean " + near + "?")
          .at("tensor")
          .help("ask without a tensor for the list of them");
    }
    json["tensor"] = tensor_json(view, *state);
    add_held(json, programs, *state);
    return json;
  }
  json["tensors"] = Json::array();
  for (size_t i = 0; i < std::min(view.states.size(), kMostTensors); ++i)
    json["tensors"].push_back(tensor_json(view, view.states[i]));
  json["all_tensors"] = view.states.size();
  return json;
}

Answer answer_placements(const Question& question) {
  require_known_fields(question.fields, {"run", "tensor"});
  const AskedRun run = asked_run(question);
  const Compiled compiled = compile(spec_to_simulate(run.cluster, run.config), {.check = false});
  return {placements_json(compiled.programs, run.cluster, find_text(question.fields, "tensor"))};
}

}  // namespace tessera
