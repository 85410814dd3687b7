// SPDX-License-Identifier: Apache-2.0
// Optimizers as data. An optimizer is an op and one row of the table in
// ops/optimizer/optimizers.cpp; from the row follow the op's signature, the update that is built,
// the states beside each parameter, their names in checkpoints, and the config keys. Declared here
// because the parser of the IR asks too.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op_kind.h"
#include "ir/op_list.h"
#include "ir/state.h"

namespace tessera {

// A state of each parameter. It has the parameter's shape, and is sharded as its gradient is.
struct CompanionState {
  std::string_view name;  // in the IR, and after the parameter's name in checkpoints
  Init::Kind init = Init::Kind::Zeros;
  // Gradient: in the dtype that gradients are kept in. Accumulator: never below fp32.
  enum class KeptIn : uint8_t { Gradient, Accumulator };
  KeptIn kept_in = KeptIn::Gradient;

  DType dtype(DType of_gradient) const {
    return kept_in == KeptIn::Gradient ? of_gradient : accumulator_of(of_gradient);
  }
};

// Whatever the optimizer: the weights unrounded, where those in use are narrower than gradients;
// and their moving average.
inline constexpr CompanionState kMaster{.name = "master", .init = Init::Kind::OfParameter};
inline constexpr CompanionState kAverage{.name = "average",
                                         .init = Init::Kind::OfParameter,
                                         .kept_in = CompanionState::KeptIn::Accumulator};

// A number that the optimizer reads: an attribute of its op, and train.<name> in a config. Not
// negative; optimizers may share one, each with its own default.
struct OptimizerSetting {
  std::string_view name;
  double fallback;
  bool below_one;
  std::string_view doc;
};

struct OptimizerDef {
  OpKind op;                          // whose name is the optimizer's
  std::vector<CompanionState> slots;  // names that no other optimizer uses
  std::vector<OptimizerSetting> settings;
  int flops_per_element;
  bool takes_sign = false;  // a gradient near zero decides the direction of a whole step
  // Set: it moves whole matrices along the orthogonal matrix next to their momentum, its one slot,
  // which is kept before the op; this optimizer moves all other parameters.
  std::optional<OpKind> for_others = {};

  bool takes_matrices() const { return for_others.has_value(); }
  std::span<const CompanionState> own_slots() const;  // of the op: none where it takes matrices
};

std::span<const OptimizerDef> optimizers();  // the first is the default
const OptimizerDef* find_optimizer(OpKind op);
const OptimizerDef* find_optimizer(std::string_view name);
// An optimizer, or the average of weights.
bool is_update(OpKind op);
const OptimizerDef& optimizer_of(const StateSpec& parameter);  // that moves it
// The slot of any optimizer; null when none has it.
const CompanionState* find_slot(std::string_view name);
// Is this the name of a state that belongs to a parameter, such as "layer.3.wq.moment1"?
bool is_companion(std::string_view state_name);

using OptimizerSettings = std::map<std::string, double, std::less<>>;
// Of every setting of every optimizer, the default: this optimizer's, or else that of the first
// that has the setting.
OptimizerSettings default_settings(const OptimizerDef& optimizer);

// Parameters that are updated in another way: those whose full names ("layer.3.wq") match the
// pattern and no earlier group's.
struct ParameterGroup {
  std::string pattern;              // * and ? as in a glob
  double learning_rate_factor = 1;  // times the step's learning rate
  std::optional<OpKind> op = {};    // none: as the others
  std::optional<double> weight_decay = {};
  bool frozen = false;  // they are not trained
};

struct OptimizerOptions {
  OpKind op = OpKind::adamw;
  OptimizerSettings settings = {};  // absent ones are the optimizer's defaults
  double weight_decay = 0.1;        // decoupled: takes learning_rate * weight_decay of the weights
  double clip_norm = 1.0;           // 0: gradients are not clipped
  double ema_decay = 0.0;           // 0: no moving average of the weights
  int64_t rounding_seed = 0;        // of stochastic rounding
  std::vector<ParameterGroup> groups = {};

  // Of a parameter group, from 1; 0: of what is in none.
  OpKind optimizer_of(int64_t group) const { return of(group).op.value_or(op); }
  double weight_decay_of(int64_t group) const {
    return of(group).weight_decay.value_or(weight_decay);
  }
  double learning_rate_factor_of(int64_t group) const { return of(group).learning_rate_factor; }
  bool is_frozen(int64_t group) const { return of(group).frozen; }

 private:
  ParameterGroup of(int64_t group) const {
    return group == 0 ? ParameterGroup{} : groups[static_cast<size_t>(group) - 1];
  }
};

}  // namespace tessera
