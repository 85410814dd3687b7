// SPDX-License-Identifier: Apache-2.0
// The optimizers that exist, one row each. Beside its own settings each takes weight decay,
// clipping, master weights, stochastic rounding and shards, as optimizer_op.h says.
#include <algorithm>

#include "ir/op_list.h"
#include "ir/optimizer.h"

namespace tessera {
namespace {

const std::vector<OptimizerDef>& table() {
  static const std::vector<OptimizerDef> rows{
      {.op = OpKind::adamw,
       .slots = {{.name = "moment1"}, {.name = "moment2"}},
       .settings = {{"beta1", 0.9, true, "decay of the mean gradient"},
                    {"beta2", 0.95, true, "decay of the mean square"},
                    {"epsilon", 1e-8, false, "added to the root of the mean square"}},
       // Clip 1, decay 1, moment1 3, moment2 4, denominator 3, update 3.
       .flops_per_element = 15},
      {.op = OpKind::sgd,
       .slots = {{.name = "momentum"}},
       .settings = {{"momentum", 0.9, true, "share of the sum of gradients that is kept"}},
       // Clip 1, decay 1, momentum 2, update 2.
       .flops_per_element = 6},
      {.op = OpKind::lion,
       .slots = {{.name = "mean_gradient"}},
       .settings = {{"beta1", 0.9, true, "share of the mean gradient in the step's direction"},
                    {"beta2", 0.99, true, "decay of the mean gradient"}},
       // Clip 1, decay 1, direction 3, sign 1, mean 3, update 2.
       .flops_per_element = 11,
       .takes_sign = true},
      {.op = OpKind::muon,
       .slots = {{.name = "matrix_momentum"}},
       .settings = {{"momentum", 0.95, true, "share of the sum of gradients that is kept"},
                    {"matched_rms", 0.2, false,
                     "root of the mean square of a step of rate 1, as AdamW's is about; 0: the "
                     "orthogonal matrix times the root of columns over rows, at least 1"}},
       // Clip 1, decay 1, update 2; what makes the direction is counted by its own ops.
       .flops_per_element = 4,
       .for_others = OpKind::adamw},
  };
  return rows;
}

}  // namespace

std::span<const OptimizerDef> optimizers() { return table(); }

const OptimizerDef* find_optimizer(OpKind op) {
  const auto found =
      std::ranges::find_if(table(), [&](const OptimizerDef& row) { return row.op == op; });
  return found == table().end() ? nullptr : &*found;
}

bool is_update(OpKind op) { return find_optimizer(op) || op == OpKind::moving_average; }

const OptimizerDef* find_optimizer(std::string_view text) {
  const auto found =
      std::ranges::find_if(table(), [&](const OptimizerDef& row) { return name(row.op) == text; });
  return found == table().end() ? nullptr : &*found;
}

const OptimizerDef& optimizer_of(const StateSpec& parameter) {
  return parameter.optimizer.empty() ? table().front() : *find_optimizer(parameter.optimizer);
}

const CompanionState* find_slot(std::string_view text) {
  for (const OptimizerDef& row : table())
    for (const CompanionState& slot : row.slots)
      if (slot.name == text) return &slot;
  return nullptr;
}

bool is_companion(std::string_view state_name) {
  const std::string_view last = state_name.substr(state_name.rfind('.') + 1);
  return last == kMaster.name || last == kAverage.name || find_slot(last) != nullptr;
}

std::span<const CompanionState> OptimizerDef::own_slots() const {
  return takes_matrices() ? std::span<const CompanionState>() : slots;
}

OptimizerSettings default_settings(const OptimizerDef& optimizer) {
  OptimizerSettings settings;
  for (const OptimizerSetting& own : optimizer.settings) settings.emplace(own.name, own.fallback);
  for (const OptimizerDef& row : table())
    for (const OptimizerSetting& other : row.settings)
      settings.emplace(other.name, other.fallback);  // where it is not there yet
  return settings;
}

}  // namespace tessera
