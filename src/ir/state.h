// SPDX-License-Identifier: Apache-2.0
// State: a named value that outlives a step. Its first value is a pure function of (seed, its full
// name, element index).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace tessera {

// Slot: one of the optimizer's states beside a parameter, by name; Cache: keys or values of a text
// that is being written; the others exist whatever the optimizer.
enum class StateRole : uint8_t { Parameter, Master, Slot, Average, Cache };

// How a state begins. OfParameter: a copy, in its own dtype, of the parameter it belongs to.
struct Init {
  enum class Kind : uint8_t { Zeros, Ones, Normal, OfParameter };
  Kind kind = Kind::Zeros;
  double deviation = 0;
  bool operator==(const Init&) const = default;
};
inline Init zeros() { return {}; }
inline Init ones() { return {.kind = Init::Kind::Ones}; }
inline Init normal(double deviation) {
  return {.kind = Init::Kind::Normal, .deviation = deviation};
}

struct StateSpec {
  StateRole role = StateRole::Parameter;
  std::string slot = {};  // of the role Slot: its name ("moment1")
  Init init = {};
  bool decay = false;  // weight decay applies
  bool tied = false;   // bound to another block's parameter, which owns its update and slots
  // The group of ranks whose stages hold copies of it ("pp-0-3"), by which its gradients are
  // joined; empty: one stage has it.
  std::string joined = {};
  bool replica = false;  // the copy of another block's parameter
  bool pure = false;     // its gradient and slots are kept in its own dtype
  // A parameter that training leaves as it is: it has no gradient, no slots and no master weights.
  bool frozen = false;
  // Frozen, and stored with the model that the run began from: checkpoints do not hold it.
  bool in_base = false;
  // Above 0: a router's bias. It has no gradient; each step moves it by this much towards experts
  // that are chosen too seldom.
  double balance_rate = 0;
  // Of a parameter that is a matrix, or several of one shape: a letter for each dim, r of rows
  // (which a matmul sums over), c of columns, s of a stack. d x 2 x mlp is "rsc": two matrices.
  std::string matrix = {};
  // Set by group_parameters: what moves it, where that is not the first of all optimizers; and its
  // parameter group, 0 where it is in none.
  std::string optimizer = {};
  int64_t group = 0;
  std::string parameter = {};  // of master, slot and average: the parameter it belongs to
  bool operator==(const StateSpec&) const = default;
};

// Of the gradient, the optimizer's slots and, where it is not the parameter's own, the master
// weights.
inline DType kept_dtype(const StateSpec& parameter, DType dtype) {
  return parameter.pure ? dtype : accumulator_of(dtype);
}

// The parameters of a block with the same placement over the mesh, in one flat buffer: gathered,
// reduced and updated as one. Weights and Gradient are whole, as the block's routines use them; the
// others are this rank's shard.
enum class FlatRole : uint8_t {
  Weights,
  Gradient,
  WeightsShard,
  Reduced,  // this rank's part of Gradient, where it lies
  GradientShard,
  Master,
  Slot,
  Average,
  Load,            // how often each expert of a router was chosen in the step
  GradientAtRest,  // on the host: what is Gradient or GradientShard while the device works on it
};

struct FlatSpec {
  std::string bundle;
  FlatRole role = FlatRole::Weights;
  std::string slot = {};  // of the role Slot: its name
  bool staged = false;    // where the device works on what rests on the host
  bool operator==(const FlatSpec&) const = default;
};

// The role as the IR spells it: of a slot, its name.
std::string_view role_name(const StateSpec& state);
std::string_view role_name(const FlatSpec& flat);
// Sets role and slot; false where there is no such role and no optimizer has such a slot.
bool set_role(StateSpec& state, std::string_view text);
bool set_role(FlatSpec& flat, std::string_view text);

}  // namespace tessera
