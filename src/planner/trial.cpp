// SPDX-License-Identifier: Apache-2.0
#include "planner/trial.h"

#include "compiler/compile.h"
#include "core/error.h"
#include "models/build_model.h"
#include "models/model_size.h"
#include "system/run_parts.h"

namespace tessera {
namespace {

struct Compiler {
  const PlanTask& task;
  const Attempt& attempt;

  Compiled with(Recompute recompute) const {
    const Candidate& candidate = attempt.candidate;
    const auto microbatches = static_cast<int>(candidate.microbatches(task.batch));
    CompileOptions options{
        .training = true,
        .optimizer = task.optimizer,
        .plan = plan_of(candidate, task.model, task.precision),
        .profile = {.threads = task.threads_per_rank(), .memory_bytes = task.rank_memory_bytes()},
        .microbatches = microbatches,
        .check = false};
    options.plan.recompute = recompute;
    const BatchShape shape{.batch = task.batch / microbatches, .seq = task.seq};
    check_batch_shape(task.model, shape);
    return compile(build_model(task.model, shape, task.precision, HeadKind::Loss), options);
  }

  bool fits(const Compiled& compiled) const {
    return most_bytes(compiled.programs) <= task.rank_memory_bytes();
  }

  // What compile() makes of plan.recompute = fit, without trying what is known not to fit.
  Compiled to_fit() const {
    if (attempt.least_values == 0)
      if (Compiled none = with({}); fits(none)) return none;
    Compiled enough = with(kAllValues);
    if (!fits(enough)) return enough;
    least_values(rebuilt_values(enough), [&](int values) {
      if (values < attempt.least_values) return false;
      Compiled some = with({.kind = RecomputeKind::Values, .values = values});
      const bool fit = fits(some);
      if (fit) enough = std::move(some);
      return fit;
    });
    return enough;
  }

  Compiled run() const {
    const Candidate& candidate = attempt.candidate;
    if (candidate.recompute == RecomputeKind::Fit) return to_fit();
    return with({.kind = candidate.recompute, .every = candidate.every});
  }
};

}  // namespace

Trial try_candidate(const PlanTask& task, const Attempt& attempt) {
  Trial trial{.candidate = attempt.candidate};
  try {
    const Compiled compiled = Compiler{task, attempt}.run();
    trial.simulation.peak_bytes = most_bytes(compiled.programs);
    trial.fits = trial.excess_bytes(task) <= 0;
    if (!trial.fits) return trial;
    const double flops =
        flops_per_token(task.model, task.seq).causal * static_cast<double>(task.tokens());
    trial.simulation = simulate(compiled.programs, task.cluster,
                                {.model_flops = flops, .precision = task.precision});
  } catch (const UserError& error) {
    trial.refused = error.message();
  }
  return trial;
}

std::vector<Trial> try_candidates(const PlanTask& task, std::span<const Attempt> attempts,
                                  int threads) {
  std::vector<Trial> trials(attempts.size());
  run_parts(attempts.size(), threads,
            [&](size_t i, size_t) { trials[i] = try_candidate(task, attempts[i]); });
  return trials;
}

}  // namespace tessera
