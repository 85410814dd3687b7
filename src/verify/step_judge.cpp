// SPDX-License-Identifier: Apache-2.0
#include "verify/step_judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace tessera {
namespace {

constexpr double kFp64Allowed = 1e-9;
// Times the worst of the samples: a plan rounds partial sums that one rank keeps in wide registers.
constexpr double kMargin = 5;
// Of the loss: errors of single logits mostly cancel in it.
constexpr double kLossMargin = 2;
// Samples may be exact by luck: in units of the dtype.
constexpr double kLeastUnits = 2;
// Losses and norms are summed in fp32 at least.
constexpr double kSumUnits = 16;
// That rounding may send to another expert, at least.
constexpr double kFewTokens = 4;
// The first steps of an optimizer turn by less than this many times what their gradients do.
constexpr double kStepsTurn = 4;

double allowed_sum(bool in_fp64) {
  return in_fp64 ? kFp64Allowed : kSumUnits * unit_of(DType::Fp32);
}

double ratio(double error, double size) { return error == 0 ? 0 : error / size; }

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

double largest(const OutcomeTensors& tensors) {
  double most = 0;
  for (const auto& [name, tensor] : tensors) most = std::max(most, largest(tensor.values));
  return most;
}

// NaN where any element is.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double off = std::abs(a[i] - b[i]);
    if (!(off <= most)) most = off;
  }
  return most;
}

void note(WorstError& worst, double error, double allowed, const std::string& name) {
  const bool first = worst.allowed == 0;
  if (!first && error * worst.allowed <= worst.error * allowed) return;
  worst = {std::isnan(error) ? INFINITY : error, allowed, error == 0 ? "" : name};
}

// Null, and noted, where it is not there whole.
const OutcomeTensor* find(const OutcomeTensors& tensors, const std::string& name, size_t elements,
                          WorstError& worst) {
  const auto found = tensors.find(name);
  if (found != tensors.end() && found->second.values.size() == elements) return &found->second;
  note(worst, INFINITY, kFp64Allowed, name);
  return nullptr;
}

}  // namespace

StepJudge judge_of(const OptimizerOptions& optimizer, DType narrowest, double learning_rate) {
  bool takes_sign = false, takes_matrices = false;
  for (int64_t group = 0; group <= std::ssize(optimizer.groups); ++group) {
    const OptimizerDef& row = *find_optimizer(optimizer.optimizer_of(group));
    takes_sign = takes_sign || row.takes_sign;
    takes_matrices = takes_matrices || row.takes_matrices();
  }
  return {narrowest, learning_rate, takes_sign, takes_matrices};
}

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::Fp64:
      return 0x1p-52;
    case DType::Fp32:
      return 0x1p-23;
    case DType::Bf16:
      return 0x1p-7;
    case DType::Int32:
    case DType::E4m3:
    case DType::E5m2:
      break;
  }
  check_failed("a float", __FILE__, __LINE__, "");
}

void StepJudge::judge(int step, const StepOutcome& got, const StepOutcome& exact,
                      std::span<const StepOutcome> rounded, StepErrors& errors) {
  const auto loss = [](const StepOutcome& outcome) { return outcome.loss; };
  judge_loss(fmt::format("step {}", step), got, exact, rounded, loss, errors.loss);
  for (const auto& [name, value] : exact.router_losses)
    judge_loss(
        fmt::format("{} of step {}", name, step), got, exact, rounded,
        [&own = name](const StepOutcome& outcome) {
          const auto found = outcome.router_losses.find(own);
          return found == outcome.router_losses.end() ? NAN : found->second;
        },
        errors.loss);
  judge_norm(step, got, rounded.empty(), errors.grad_norm);
  judge_gradients(got, exact, rounded, errors.gradient);
  judge_loads(got, exact, rounded, errors.gradient);
  judge_parameters(step, got.parameters, exact.parameters, rounded, errors.parameter);
}

double StepJudge::doubt_of(const std::string& parameter, size_t element) const {
  const auto doubt = doubts_.find(parameter);
  if (doubt == doubts_.end()) return 0;
  return kStepsTurn * learning_rate_ * doubt->second.elements[element];
}

void StepJudge::share_doubts(std::span<StepJudge* const> judges, double growth) {
  std::map<std::string, Doubt> most;
  for (const StepJudge* judge : judges)
    for (const auto& [name, doubt] : judge->doubts_) {
      std::vector<double>& elements = most[name].elements;
      elements.resize(doubt.elements.size());
      for (size_t i = 0; i < elements.size(); ++i)
        elements[i] = std::max(elements[i], growth * doubt.elements[i]);
    }
  for (StepJudge* judge : judges)
    for (auto& [name, doubt] : judge->doubts_) doubt.elements = most[name].elements;
}

void StepJudge::judge_loss(const std::string& name, const StepOutcome& got,
                           const StepOutcome& exact, std::span<const StepOutcome> rounded,
                           const LossOf& loss_of, WorstError& worst) {
  const double wanted = loss_of(exact);
  const auto error = [&](const StepOutcome& outcome) {
    return ratio(std::abs(loss_of(outcome) - wanted), std::abs(wanted));
  };
  double allowed = allowed_sum(rounded.empty());
  for (const StepOutcome& sample : rounded)
    allowed = std::max(allowed, kLossMargin * error(sample));
  note(worst, error(got), allowed, name);
}

// Against the gradients that it is of, which are judged by themselves: so that it is known well in
// every precision.
void StepJudge::judge_norm(int step, const StepOutcome& got, bool in_fp64, WorstError& worst) {
  double squares = 0;
  for (const auto& [name, tensor] : got.gradients)
    for (const double value : tensor.values) squares += value * value;
  const double norm = std::sqrt(squares);
  note(worst, ratio(std::abs(got.grad_norm - norm), norm), allowed_sum(in_fp64),
       "step " + std::to_string(step));
}

void StepJudge::judge_gradients(const StepOutcome& got, const StepOutcome& exact,
                                std::span<const StepOutcome> rounded, WorstError& worst) {
  const double most = largest(exact.gradients);
  // Clipping scales them all by one factor, which differs from step to step.
  const double norm_doubt = ratio(std::abs(got.grad_norm - exact.grad_norm), exact.grad_norm);
  for (const auto& [name, wanted] : exact.gradients) {
    const size_t elements = wanted.values.size();
    Doubt& doubt = doubts_[name];
    doubt.elements.resize(elements);
    doubt.past.resize(elements);
    const OutcomeTensor* own = find(got.gradients, name, elements, worst);
    if (!own) continue;
    const double size = std::max(largest(wanted.values), 0.01 * most);
    const double off = largest_difference(own->values, wanted.values);
    double allowed = rounded.empty() ? kFp64Allowed : kLeastUnits * unit_of(narrowest_);
    for (const StepOutcome& sample : rounded) {
      const auto& values = sample.gradients.at(name).values;
      allowed = std::max(allowed, kMargin * ratio(largest_difference(values, wanted.values), size));
    }
    note(worst, ratio(off, size), allowed, name);
    doubt.off = std::max(doubt.off, off);
    for (size_t i = 0; i < elements; ++i) {
      const double value = std::abs(wanted.values[i]);
      if (value == 0 && own->values[i] == 0) continue;
      // A sign of a sum: below fp64 it is known only where this gradient outweighs all before.
      const bool may_turn =
          takes_sign_ && !rounded.empty() &&
          value <= doubt.off + std::exchange(doubt.past[i], doubt.past[i] + value);
      doubt.elements[i] += may_turn ? 1.0 : std::min(1.0, ratio(doubt.off, value) + norm_doubt);
    }
  }
}

// What the program itself counted and summed over ranks; what routers chose is counted apart from
// it (RouteErrors). Exact in fp64; below it rounding may send a few tokens to other experts.
void StepJudge::judge_loads(const StepOutcome& got, const StepOutcome& exact,
                            std::span<const StepOutcome> rounded, WorstError& worst) const {
  for (const auto& [name, wanted] : exact.loads) {
    const OutcomeTensor* own = find(got.loads, name, wanted.values.size(), worst);
    if (!own) continue;
    const double size = std::max(1.0, largest(wanted.values));
    double allowed = rounded.empty() ? kFp64Allowed : kFewTokens / size;
    for (const StepOutcome& sample : rounded)
      allowed = std::max(
          allowed,
          kMargin * largest_difference(sample.loads.at(name).values, wanted.values) / size);
    note(worst, largest_difference(own->values, wanted.values) / size, allowed, name);
  }
}

// How far the samples' weights are off, where a matrix turns as a whole.
double StepJudge::moved_by_rounding(const std::string& parameter, const OutcomeTensor& wanted,
                                    std::span<const StepOutcome> rounded) const {
  double most = 0;
  if (!takes_matrices_) return most;
  for (const StepOutcome& sample : rounded) {
    const auto master = sample.parameters.find(parameter + ".master");
    const OutcomeTensor& own =
        master != sample.parameters.end() ? master->second : sample.parameters.at(parameter);
    most = std::max(most, largest_difference(own.values, wanted.values));
  }
  return most;
}

void StepJudge::judge_parameters(int step, const OutcomeTensors& got, const OutcomeTensors& exact,
                                 std::span<const StepOutcome> rounded, WorstError& worst) const {
  const double most = largest(exact);
  for (const auto& [name, wanted] : exact)
    // In fp64 there is no master copy: the parameter is it.
    if (!got.contains(name) && !got.contains(name + ".master"))
      note(worst, INFINITY, kFp64Allowed, name);
  for (const auto& [name, own] : got) {
    const auto same = exact.find(name);
    const OutcomeTensor& wanted = same != exact.end() ? same->second : exact.at(own.parameter);
    if (!find(got, name, wanted.values.size(), worst)) continue;
    const double size = std::max(largest(wanted.values), 0.01 * most);
    // Kept in a narrow dtype, it is rounded when it is made, when it decays and when it moves.
    const double kept = std::max(kFp64Allowed, (2 * step + 1) * unit_of(own.dtype)) +
                        kMargin * ratio(moved_by_rounding(own.parameter, wanted, rounded), size);
    const auto doubt = doubts_.find(own.parameter);
    // A load at the mean moves a bias up, down or not at all.
    const double turned = narrowest_ == DType::Fp64 ? 0 : 2 * own.balance_rate * step;
    for (size_t i = 0; i < wanted.values.size(); ++i) {
      const double off = std::abs(own.values[i] - wanted.values[i]);
      const double moved = doubt == doubts_.end() ? turned : doubt_of(own.parameter, i);
      const double allowed = kept + ratio(moved, size);
      note(worst, ratio(off, size), allowed, name);
    }
  }
}

}  // namespace tessera
