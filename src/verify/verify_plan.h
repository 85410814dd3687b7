// SPDX-License-Identifier: Apache-2.0
// Runs a model under a plan beside the same model on one rank, from the same seed and batches, and
// compares everything that training produces; what may differ is in step_judge.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/compile_step.h"
#include "exec/executor.h"
#include "program/program.h"
#include "verify/router_margin.h"
#include "verify/step_judge.h"

namespace tessera {

struct VerifyProgress {
  int step = 0, steps = 0;
  bool on_mesh = false;  // else on one rank
};

struct VerifyOptions {
  int steps = 2;
  uint64_t seed = 1;
  double learning_rate = 1e-3;
  bool show_ranks = false;
  bool force_routes = false;  // experts are chosen by a hash (route_watch.h): no ties, no flips
  bool poison = false;        // dead memory of the plan's ranks is filled with NaNs
  // Called before each step. False: nobody wants to know any more, and the report is of the steps
  // so far.
  std::function<bool(const VerifyProgress&)> progress = {};
  // Tests break programs with it; once per rank.
  std::function<void(int rank, Program&)> change_program = {};
};

struct VerifiedRank {
  int rank = 0;
  // Its own share of the last step's loss, before the sum over ranks; none: its stage has no loss.
  std::optional<double> loss;
  std::string digest;  // of the parameters it holds at the end
};

// How many routes went to which expert of which layer, on the plan's ranks and on one.
struct RouteErrors {
  int64_t routes = 0;  // of all steps; 0: none were counted
  int64_t off = 0;     // by how much counts differ, added up
  std::string place;   // where they differ first: "layer.3, step 2"
};

struct VerifyReport : StepErrors {
  WorstError replica;  // copies must agree to the bit
  double first_loss = 0;
  RouterMargin router;              // of one rank, where the model has routers
  double router_rounding = 0;       // a margin below it is a tie: rounding decides
  RouteErrors routes;               // not known of ranks on a GPU
  std::vector<VerifiedRank> ranks;  // where asked for
  bool cancelled = false;

  bool tied() const { return router.gap < router_rounding; }
  bool equal() const;  // counts of routes may differ where there is a tie
  // Something differs, but a router was so close to a tie that rounding chose the expert.
  bool undecided() const { return !equal() && tied(); }
};

// In the spec's compute dtype. Its ranks run on its device, the one rank beside them on the CPU.
VerifyReport verify_plan(const RunSpec& spec, const VerifyOptions& options);

// Moves every weight at random, by at most a part of itself: what becomes of a step tells how much
// rounding errors of that size matter.
void perturb_weights(Executor& executor, double part, uint64_t seed);

}  // namespace tessera
