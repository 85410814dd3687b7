// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule as data: the order of actions of every rank. A rank holds `chunks` stages;
// everything that runs, simulates or draws a schedule reads only this table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

// Backward computes both gradients; a schedule that splits it has InputGrad and WeightGrad instead.
enum class ActionKind : uint8_t { Forward, Backward, InputGrad, WeightGrad };
inline constexpr int kNumActionKinds = 4;

struct Action {
  ActionKind kind = ActionKind::Forward;
  int stage = 0, microbatch = 0;
  bool operator==(const Action&) const = default;
};

struct Schedule {
  std::string kind;
  int ranks = 1, chunks = 1, microbatches = 1;
  std::vector<std::vector<Action>> actions;  // by rank, in order
  std::vector<int> rank_of_stage;            // ranks * chunks of them

  int num_stages() const { return ranks * chunks; }
  bool operator==(const Schedule&) const = default;
};

// Input and weight gradients are actions of their own.
bool splits_backward(const Schedule& schedule);

// By stage: which of its rank's chunks it is, counted along the model.
std::vector<int> chunk_of_stage(const Schedule& schedule);

// F, B, I or W, as in PyTorch's pipelining.
char letter(ActionKind kind);
// "forward", "backward", "input_grad", "weight_grad".
const char* name(ActionKind kind);
// "3F0": stage 3, microbatch 0.
std::string to_string(const Action& action);

// It computes the input gradient, with or without the weight gradient.
inline bool gives_input_grad(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::InputGrad;
}
// It frees the activations of its stage and microbatch.
inline bool frees_activations(ActionKind kind) {
  return kind == ActionKind::Backward || kind == ActionKind::WeightGrad;
}

}  // namespace tessera
