// SPDX-License-Identifier: Apache-2.0
#include "planner/trial.h"

#include "config/compile_step.h"
#include "core/error.h"
#include "models/model_size.h"
#include "system/threads.h"

namespace tessera {
namespace {

struct Compiler {
  const PlanTask& task;
  const Attempt& attempt;
  const Cancelled& cancelled;

  Compiled with(Recompute recompute) const {
    if (cancelled && cancelled()) throw UserError("cancelled");
    RunSpec spec = task.with(attempt.candidate);
    spec.plan.recompute = recompute;
    check_batch_shape(spec.model, spec.microbatch);
    return compile(spec, {.check = false});
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
    // With activations that may leave it is a matter of both: the compiler's own way.
    if (candidate.recompute == RecomputeKind::Fit)
      return candidate.offload_activations ? with({.kind = RecomputeKind::Fit}) : to_fit();
    return with({.kind = candidate.recompute, .every = candidate.every});
  }
};

}  // namespace

int64_t Trial::excess_bytes(const PlanTask& task) const {
  const auto& [peak, host] = std::pair(simulation.peak_bytes, simulation.host_bytes);
  if (!task.cluster.host) return peak + host - task.rank_memory_bytes();
  const auto room = static_cast<int64_t>(task.cluster.host->bytes_of_device());
  return std::max(peak - task.rank_memory_bytes(), host - room);
}

Trial try_candidate(const PlanTask& task, const Attempt& attempt, const Cancelled& cancelled) {
  Trial trial{.candidate = attempt.candidate};
  try {
    const Compiled compiled = Compiler{task, attempt, cancelled}.run();
    trial.simulation.peak_bytes = most_bytes(compiled.programs);
    for (const Program& program : compiled.programs)
      trial.simulation.host_bytes = std::max(trial.simulation.host_bytes, program.host_bytes());
    trial.fits = trial.excess_bytes(task) <= 0;
    if (!trial.fits) return trial;
    const Precision precision = task.with(attempt.candidate).precision;
    const double flops = flops_per_token(task.run.model, task.run.seq()).causal *
                         static_cast<double>(task.run.tokens_per_step());
    trial.simulation =
        simulate(compiled.programs, task.cluster, {.model_flops = flops, .precision = precision});
  } catch (const UserError& error) {
    trial.refused = error.message();
  }
  return trial;
}

std::vector<Trial> try_candidates(const PlanTask& task, std::span<const Attempt> attempts,
                                  int threads, const Cancelled& cancelled) {
  std::vector<Trial> trials(attempts.size());
  run_parts(attempts.size(), threads,
            [&](size_t i, size_t) { trials[i] = try_candidate(task, attempts[i], cancelled); });
  return trials;
}

}  // namespace tessera
