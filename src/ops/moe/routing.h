// SPDX-License-Identifier: Apache-2.0
// The attributes of route and route_grad, as compiler and kernels read them.
#pragma once

#include "ops/type_rules.h"

namespace tessera {

// Softmax: over all experts. OverChosen: over the chosen ones alone, which is also what a
// normalised softmax gives.
enum class GateKind : uint8_t { Softmax, Sigmoid, OverChosen };

struct Routing {
  int64_t experts, top_k, groups, kept;
  bool scores_are_softmax, scores_are_sigmoid;  // of the selection; neither: the logits
  GateKind gate;
  bool normalise;
  double scale;

  Routing(const Attributes& attributes, int64_t expert_count)
      : experts(expert_count),
        top_k(attributes.integer("top_k")),
        groups(attributes.integer("groups")),
        kept(attributes.integer("kept")),
        scores_are_softmax(attributes.word("score") == "softmax"),
        scores_are_sigmoid(attributes.word("score") == "sigmoid"),
        gate(GateKind::OverChosen),
        normalise(attributes.integer("normalise") != 0),
        scale(attributes.real("scale")) {
    if (scores_are_sigmoid) gate = GateKind::Sigmoid;
    if (scores_are_softmax && !normalise) gate = GateKind::Softmax;
  }
};

// Scratch of one worker, in elements: keys, shares and the scores of groups.
inline int64_t routing_scratch(int64_t experts) { return 3 * experts; }

// Calls f.template operator()<S>() with the C++ type of logits.
template <typename F>
void dispatch_accumulator(DType dtype, F&& f) {
  if (dtype == DType::Fp64) return f.template operator()<double>();
  f.template operator()<float>();
}

// The gates of one token for choices that are given, as `route` computes them; `shares` has room
// for a number for each expert. On the CPU.
void set_gates(const Routing& r, const float* logits, const int32_t* chosen, float* shares,
               float* gates);
void set_gates(const Routing& r, const double* logits, const int32_t* chosen, double* shares,
               double* gates);

}  // namespace tessera
