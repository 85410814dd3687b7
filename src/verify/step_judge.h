// SPDX-License-Identifier: Apache-2.0
// How far a plan may be from exact maths, which is one rank in fp64: in fp64 by 1e-9, below it by
// not much more than rounding takes one rank. Parameters may also differ by what the optimizer
// makes of the difference of their gradients: AdamW divides by their own size, Lion takes the sign,
// so that one that is zero but for rounding makes a whole step in either direction.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ir/optimizer.h"
#include "verify/step_outcome.h"

namespace tessera {

// Relative to the size of what is compared: of a tensor the larger of its largest entry and 0.01 of
// the largest of any tensor of its kind.
struct WorstError {
  double error = 0, allowed = 0;  // where it is the largest part of what is allowed
  std::string name;               // of the tensor; empty: none is off

  bool is_allowed() const { return error <= allowed; }
};

struct StepErrors {
  WorstError loss, grad_norm, gradient, parameter;
};

// The distance from 1 to the next number.
double unit_of(DType dtype);

// Muon makes of a part of a matrix that is small beside the rest as much as of the rest: below fp64
// the samples of one rank tell by how much parameters may then differ.
class StepJudge {
 public:
  // `narrowest`: of the dtypes that the plan computes and sums in. The others: as the rows of the
  // run's optimizers have it.
  StepJudge(DType narrowest, double learning_rate, bool takes_sign, bool takes_matrices)
      : narrowest_(narrowest),
        learning_rate_(learning_rate),
        takes_sign_(takes_sign),
        takes_matrices_(takes_matrices) {}

  // Steps in order. `rounded` are samples of one rank in the narrowest dtype; none: that is fp64.
  void judge(int step, const StepOutcome& got, const StepOutcome& exact,
             std::span<const StepOutcome> rounded, StepErrors& errors);

  // How far an element of a parameter may be off, by its gradients so far.
  double doubt_of(const std::string& parameter, size_t element) const;
  // Islands have combined their parameters: what one does not know no other knows either, and the
  // outer optimizer may have made it this much larger.
  static void share_doubts(std::span<StepJudge* const> judges, double growth);

 private:
  using LossOf = std::function<double(const StepOutcome&)>;
  static void judge_loss(const std::string& name, const StepOutcome& got, const StepOutcome& exact,
                         std::span<const StepOutcome> rounded, const LossOf& loss_of,
                         WorstError& worst);
  static void judge_norm(int step, const StepOutcome& got, bool in_fp64, WorstError& worst);
  void judge_gradients(const StepOutcome& got, const StepOutcome& exact,
                       std::span<const StepOutcome> rounded, WorstError& worst);
  void judge_loads(const StepOutcome& got, const StepOutcome& exact,
                   std::span<const StepOutcome> rounded, WorstError& worst) const;
  void judge_parameters(int step, const OutcomeTensors& got, const OutcomeTensors& exact,
                        std::span<const StepOutcome> rounded, WorstError& worst) const;
  double moved_by_rounding(const std::string& parameter, const OutcomeTensor& wanted,
                           std::span<const StepOutcome> rounded) const;

  DType narrowest_;
  double learning_rate_;
  bool takes_sign_, takes_matrices_;
  // Of the gradients of a parameter so far.
  struct Doubt {
    double off = 0;                // the largest difference, which moments remember
    std::vector<double> elements;  // the parts that are not known, at most 1 a step
    std::vector<double> past;      // the sums of earlier gradients' sizes
  };
  std::map<std::string, Doubt> doubts_;
};

// As the optimizers of a run, and of its parameter groups, have it.
StepJudge judge_of(const OptimizerOptions& optimizer, DType narrowest, double learning_rate);

}  // namespace tessera
