// SPDX-License-Identifier: Apache-2.0
// The first group whose pattern matches counts. All blocks of a class are updated in the same way,
// because they run the same routines. An optimizer of matrices leaves other parameters to another
// one. A tied parameter is frozen where its owner is.
#include "passes/gradient/group_parameters.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "core/error.h"

namespace tessera {
namespace {

bool matches(const ParameterGroup& group, const std::string& parameter) {
  return fnmatch(group.pattern.c_str(), parameter.c_str(), 0) == 0;
}

// From 1; 0: none.
int64_t group_of(std::span<const ParameterGroup> groups, const std::string& parameter) {
  const auto found =
      std::ranges::find_if(groups, [&](const ParameterGroup& g) { return matches(g, parameter); });
  return found == groups.end() ? 0 : 1 + (found - groups.begin());
}

std::string key_of(const ParameterGroup& group) {
  return fmt::format("train.group.\"{}\"", group.pattern);
}

// "embedding.table, layer.*.wq": each parameter of a class once.
std::string trained_names(const Module& module) {
  std::string names;
  std::set<std::string> known;
  for (const Block& block : module.blocks)
    for (const GraphInput& input : module.class_of(block).graph.inputs()) {
      if (!input.state || input.state->tied) continue;
      const BlockClass& block_class = module.class_of(block);
      const std::string& parameter = block_class.graph.value(input.value).name;
      if (!known.insert(block_class.name + "." + parameter).second) continue;
      names += (names.empty() ? "" : ", ") + module.state_name(block, parameter);
    }
  return names;
}

void require_matches(const Module& module, std::span<const ParameterGroup> groups,
                     const std::vector<int64_t>& members) {
  for (size_t i = 0; i < groups.size(); ++i) {
    if (members[i] > 0) continue;
    throw user_error("{} holds no parameter", key_of(groups[i]))
        .at(key_of(groups[i]))
        .help(fmt::format("a pattern matches full names, and the first match counts; the model has "
                          "{}",
                          trained_names(module)));
  }
}

// The group of a class's parameter in every block that owns it.
int64_t common_group(const Module& module, size_t class_index, const std::string& parameter,
                     std::span<const ParameterGroup> groups) {
  const Block* first = nullptr;
  int64_t common = 0;
  for (const Block& block : module.blocks) {
    if (static_cast<size_t>(block.class_index) != class_index) continue;
    const std::string name = module.state_name(block, parameter);
    const int64_t group = group_of(groups, name);
    if (!first) {
      first = &block;
      common = group;
    }
    if (group == common) continue;
    const std::string other = module.state_name(*first, parameter);
    const std::string key = key_of(groups[static_cast<size_t>(std::max(group, common)) - 1]);
    throw user_error("{} holds {} but not {}, and blocks of a kind are updated in the same way",
                     key, group > common ? name : other, group > common ? other : name)
        .at(key)
        .help("write * where names differ between blocks, such as layer.*.wq");
  }
  return common;
}

// An optimizer of matrices that moves none is hardly what was meant.
void require_matrices(const Module& module, const OptimizerOptions& options) {
  if (!find_optimizer(options.op)->takes_matrices()) return;
  for (const BlockClass& block_class : module.classes)
    for (const GraphInput& input : block_class.graph.inputs())
      if (input.state && !input.state->matrix.empty()) return;
  throw user_error("optimizer {} moves matrices, but model {} declares none", name(options.op),
                   module.name)
      .at("train.optimizer")
      .help("declare them in the model with matrix() instead of parameter(), or use adamw");
}

void require_trained(const Module& module) {
  for (const BlockClass& block_class : module.classes)
    for (const GraphInput& input : block_class.graph.inputs())
      if (input.state && input.state->role == StateRole::Parameter && !input.state->frozen) return;
  throw user_error("all parameters are frozen: there is nothing to train")
      .at("train.group")
      .help("leave frozen out of a group, or train adapters with lora.rank = 8");
}

// The bias of a router follows loads instead of a gradient: where it is frozen it does not.
void freeze(StateSpec& state) {
  state.frozen = true;
  state.balance_rate = 0;
}

PassCounts run(Module& module, const OptimizerOptions& options) {
  require_matrices(module, options);
  std::vector<int64_t> members(options.groups.size());
  int64_t parameters = 0, frozen = 0;
  for (size_t c = 0; c < module.classes.size(); ++c) {
    Graph& graph = module.classes[c].graph;
    for (GraphInput& input : graph.inputs()) {
      if (!input.state) continue;
      StateSpec& state = *input.state;
      const int64_t group = common_group(module, c, graph.value(input.value).name, options.groups);
      if (options.is_frozen(group)) freeze(state);
      if (state.tied || state.balance_rate > 0) continue;
      if (group > 0) ++members[static_cast<size_t>(group) - 1];
      if (state.frozen) {
        ++frozen;
        continue;
      }
      state.group = group;
      const OptimizerDef& chosen = *find_optimizer(options.optimizer_of(state.group));
      const OpKind op = state.matrix.empty() ? chosen.for_others.value_or(chosen.op) : chosen.op;
      if (op != optimizers().front().op) state.optimizer = name(op);
      ++parameters;
    }
  }
  require_matches(module, options.groups, members);
  require_trained(module);
  return {{"parameters", parameters}, {"groups", std::ssize(options.groups)}, {"frozen", frozen}};
}

}  // namespace

Pass group_parameters(OptimizerOptions options) {
  return {.name = "group_parameters",
          .summary = "chooses the optimizer of each parameter, and its group",
          .requires_form = Form::Maths,
          .ensures_form = Form::Maths,
          .run = [options = std::move(options)](Module& module) { return run(module, options); }};
}

}  // namespace tessera
