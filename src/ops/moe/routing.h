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

}  // namespace tessera
