// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline/assign_stages.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "mesh/group.h"
#include "passes/node_work.h"

namespace tessera {
namespace {

// Only the forward counts: the backward costs about twice as much in every block.
double cost_of(const Graph& graph, const DeviceProfile& profile) {
  double cost = 0;
  for (const Node& node : graph.nodes()) cost += work_of(node_cost(graph, node), profile);
  return cost;
}

std::vector<int> blocks_per_stage(const Module& module, const Plan& plan, int stages,
                                  const DeviceProfile& profile) {
  const int blocks = static_cast<int>(module.blocks.size());
  if (blocks < stages)
    throw user_error("cannot cut {} blocks (embedding, layers, head) into {} stages", blocks,
                     stages)
        .at("mesh.pp")
        .help(fmt::format("use pp x chunks of at most {}", blocks));
  if (plan.blocks_per_stage.empty()) return balance(block_costs(module, profile), stages);
  const std::vector<int>& own = plan.blocks_per_stage;
  if (static_cast<int>(own.size()) != stages)
    throw user_error("plan.stages lists {} stages, but pp x chunks is {}", own.size(), stages)
        .at("plan.stages")
        .help(fmt::format("give {} numbers of blocks, {} in all", stages, blocks));
  if (std::accumulate(own.begin(), own.end(), 0) != blocks)
    throw user_error("plan.stages gives {} blocks, but {} has {} (embedding, layers, head)",
                     std::accumulate(own.begin(), own.end(), 0), module.name, blocks)
        .at("plan.stages");
  return own;
}

GraphInput& parameter_of(Module& module, const Block& block, std::string_view parameter) {
  Graph& graph = module.classes[static_cast<size_t>(block.class_index)].graph;
  for (GraphInput& input : graph.inputs())
    if (input.kind == InputKind::State && graph.value(input.value).name == parameter) return input;
  check_failed("parameter", __FILE__, __LINE__, std::string(parameter));
}

// A parameter that is tied across ranks becomes a copy on each, whose gradients are summed.
int replicate_ties(Module& module, const Plan& plan, const std::vector<int>& rank_of_stage) {
  const auto rank_of = [&](const Block& block) {
    return rank_of_stage[static_cast<size_t>(block.stage)];
  };
  struct Tie {
    const Block* block;
    std::string parameter;
  };
  std::map<std::string, std::vector<Tie>> copies;  // by the owner's full name
  for (const Block& block : module.blocks)
    for (const auto& [parameter, state] : block.ties) {
      const Block& owner =
          module.blocks[static_cast<size_t>(module.find_block(state.substr(0, state.rfind('.'))))];
      if (rank_of(owner) != rank_of(block)) copies[state].push_back({&block, parameter});
    }
  for (const auto& [state, ties] : copies) {
    const size_t dot = state.rfind('.');
    const Block& owner =
        module.blocks[static_cast<size_t>(module.find_block(state.substr(0, dot)))];
    std::set<int> ranks{rank_of(owner)};
    for (const Tie& tie : ties) ranks.insert(rank_of(*tie.block));
    const std::string group =
        make_group(plan.mesh, {plan.pipeline_axis}, {ranks.begin(), ranks.end()}).name;
    StateSpec& original = *parameter_of(module, owner, state.substr(dot + 1)).state;
    original.joined = group;
    for (const Tie& tie : ties) {
      StateSpec& copy = *parameter_of(module, *tie.block, tie.parameter).state;
      copy.tied = false;
      copy.replica = true;
      copy.joined = group;
      copy.init = original.init;
      copy.decay = original.decay;
      copy.optimizer = original.optimizer;
      copy.group = original.group;
    }
  }
  return static_cast<int>(copies.size());
}

PassCounts run(Module& module, const Plan& plan, const Schedule& schedule,
               const DeviceProfile& profile) {
  const int stages = std::max(1, static_cast<int>(schedule.rank_of_stage.size()));
  module.stages = stages;
  module.split_backward = splits_backward(schedule);
  const std::vector<int> counts = blocks_per_stage(module, plan, stages, profile);
  size_t block = 0;
  for (int stage = 0; stage < stages; ++stage)
    for (int i = 0; i < counts[static_cast<size_t>(stage)]; ++i)
      module.blocks[block++].stage = stage;
  const int copies = stages > 1 ? replicate_ties(module, plan, schedule.rank_of_stage) : 0;
  return {{"stages", stages}, {"copied parameters", copies}};
}

}  // namespace

std::vector<double> block_costs(const Module& module, const DeviceProfile& profile) {
  std::vector<double> by_class, costs;
  for (const BlockClass& block_class : module.classes)
    by_class.push_back(cost_of(block_class.graph, profile));
  for (const Block& block : module.blocks)
    costs.push_back(by_class[static_cast<size_t>(block.class_index)]);
  return costs;
}

Pass assign_stages(Plan plan, Schedule schedule, DeviceProfile profile) {
  return {.name = "assign_stages",
          .summary =
              "cuts the blocks into stages of similar cost; parameters tied across stages become "
              "copies",
          .requires_form = Form::Maths,
          .ensures_form = Form::Maths,
          .run = [plan = std::move(plan), schedule = std::move(schedule), profile](Module& module) {
            return run(module, plan, schedule, profile);
          }};
}

}  // namespace tessera
