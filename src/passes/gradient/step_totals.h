// SPDX-License-Identifier: Apache-2.0
// Step values that are sums over ranks: summed in a separate block, after the last block has added
// its part.
#pragma once

#include "ir/module.h"
#include "mesh/plan.h"

namespace tessera {

// A step value of the graph as its sum over ranks.
void add_total(Graph& graph, const Plan& plan, const std::string& step, const AxisIds& axes,
               Phase phase);

// How much of the room of experts' pools was needed; no sum, but the largest over all ranks.
inline constexpr const char* kExpertNeed = "expert_need";

class StepTotals {
 public:
  // `plan` must outlive it.
  StepTotals(const Plan& plan, std::string name, int stage)
      : plan_(plan), name_(std::move(name)), stage_(stage) {}

  void add(const std::string& step, const AxisIds& axes, Phase phase);
  // On stages where nothing else adds to it the step value is zero. Made in that phase, of a step
  // value that every stage knows.
  void begin_with_zero(const std::string& step, const char* known, Phase phase);
  void append_to(Module& module);

 private:
  const Plan& plan_;
  std::string name_;
  int stage_;
  Graph graph_;
};

// Sums the results of the forward: the loss and the number of labels, which the last stage has, and
// what layers on several stages add to, such as the losses of routers. Where layers divide by the
// number of labels, every stage counts them.
void append_forward_totals(Module& module, const Plan& plan);

}  // namespace tessera
