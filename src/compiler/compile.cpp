// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/emit_program.h"
#include "ir/verifier.h"
#include "program/check_program.h"
#include "schedule/schedule_csv.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

Schedule custom_schedule(const Plan& plan, int microbatches) {
  Schedule schedule = read_schedule_csv(plan.actions);
  const auto check = [&](const char* what, int found, int wanted, const char* key) {
    if (found != wanted)
      throw user_error("the schedule has {} {}, but {} is {}", found, what, key, wanted)
          .at(plan.actions)
          .help("change one of the two; tessera schedule --csv FILE writes one to begin with");
  };
  check("ranks", schedule.ranks, plan.pipeline_ranks(), "pp");
  check("microbatches", schedule.microbatches, microbatches, "train.microbatches");
  if (plan.chunks > 0) check("stages per rank", schedule.chunks, plan.chunks, "plan.chunks");
  return schedule;
}

// One rank runs one microbatch after the other.
Schedule schedule_of(const CompileOptions& options) {
  const Plan& plan = options.plan;
  if (plan.pipeline_axis < 0) return make_schedule("1f1b", 1, 1, options.microbatches);
  if (plan.schedule == "custom") return custom_schedule(plan, options.microbatches);
  const int chunks = plan.chunks > 0 ? plan.chunks : schedule_kind(plan.schedule).least_chunks;
  return make_schedule(plan.schedule, plan.pipeline_ranks(), chunks, options.microbatches);
}

std::vector<Program> programs_of(const Compiled& compiled, const CompileOptions& options,
                                 bool hold_runs) {
  const ScheduleMessages messages(compiled.schedule);
  std::vector<Program> programs;
  for (int rank = 0; rank < compiled.schedule.ranks; ++rank)
    programs.push_back(emit_program(compiled.module, compiled.schedule, messages, rank,
                                    {.threads = options.profile.threads,
                                     .pipeline_axis = options.plan.pipeline_axis,
                                     .zigzag = options.plan.zigzag,
                                     .recompute = options.plan.recompute,
                                     .hold_runs = hold_runs}));
  return programs;
}

Compiled compile_as_planned(Module module, const CompileOptions& options) {
  if (options.microbatches < 1)
    throw user_error("microbatches is {}: use 1 or more", options.microbatches);
  if (module.blocks.empty()) throw user_error("module {} has no blocks", module.name);
  if (options.check) verify(module);
  Compiled compiled{
      .module = std::move(module), .programs = {}, .schedule = schedule_of(options), .passes = {}};
  const PassPipeline pipeline =
      options.training
          ? training_pipeline(options.optimizer, options.plan, options.profile, compiled.schedule)
          : inference_pipeline(options.plan, options.profile, compiled.schedule);
  PipelineOptions run = options.pipeline;
  run.verify = run.verify && options.check;
  compiled.passes = pipeline.run(compiled.module, run);
  if (compiled.module.form != Form::Planned) return compiled;
  compiled.programs = programs_of(compiled, options, true);
  const int64_t memory = options.profile.memory_bytes;
  const bool gathers =
      std::any_of(compiled.programs.begin(), compiled.programs.end(),
                  [](const Program& program) { return gathers_per_step(program) > 0; });
  if (gathers && memory > 0 && most_bytes(compiled.programs) > memory)
    compiled.programs = programs_of(compiled, options, false);
  if (!options.check) return compiled;
  for (const Program& program : compiled.programs) check_memory(program);
  if (compiled.programs.size() > 1) check_pipeline(compiled.programs);
  return compiled;
}

int values_of(const Compiled& compiled, std::string_view pass_name) {
  for (const PassReport& pass : compiled.passes)
    for (const auto& [what, count] : pass.counts)
      if (pass.name == pass_name && what == "values") return static_cast<int>(count);
  return 0;
}

// The least that leaves the device so that every rank fits, by what it costs. Where activations may
// go to the host: a growing number of values does, as far as the link moves them while blocks
// compute, those first that would cost most to recompute; then a growing number is recomputed, the
// cheapest first, of those that cost less than a copy that nothing hides; then more go to the host.
// After that, and where nothing may go there, any value is recomputed, then blocks are.
class Fit {
 public:
  Fit(const Module& module, CompileOptions options)
      : module_(module),
        options_(std::move(options)),
        memory_(options_.profile.memory_bytes),
        offload_(options_.plan.offload) {}

  Compiled run() {
    Compiled compiled = with({}, 0);
    if (fits(compiled)) return compiled;
    if (offload_.activations)
      if (std::optional<Compiled> away = with_the_host()) return std::move(*away);
    if (Compiled rebuilt = with(kAllValues, kAll); fits(rebuilt))
      return fewest(std::move(rebuilt), "recompute", [&](int values) {
        return with({.kind = RecomputeKind::Values, .values = values}, kAll);
      });
    Compiled blocks = with({.kind = RecomputeKind::Blocks, .every = 1}, 0);
    if (fits(blocks)) return blocks;
    throw user_error("a rank needs {} bytes even if it recomputes every block, but has {}",
                     most_bytes(blocks.programs), memory_)
        .at("plan.recompute")
        .help("use more ranks, smaller microbatches or plan.zero = 3");
  }

 private:
  static constexpr int kAll = std::numeric_limits<int>::max();

  bool fits(const Compiled& compiled) const { return most_bytes(compiled.programs) <= memory_; }

  // Without what would be dearer to recompute than to copy.
  std::optional<Compiled> with_the_host() {
    if (Compiled away = with({}, kAll, true); fits(away))
      return fewest(std::move(away), "offload_activations",
                    [&](int values) { return with({}, values, true); });
    const auto cheaper = [](int values) {
      return Recompute{.kind = RecomputeKind::Values, .values = values, .below_link = true};
    };
    if (Compiled rebuilt = with(cheaper(kAll), kAll, true); fits(rebuilt))
      return fewest(std::move(rebuilt), "recompute",
                    [&](int values) { return with(cheaper(values), kAll, true); });
    if (Compiled away = with(cheaper(kAll), kAll); fits(away))
      return fewest(std::move(away), "offload_activations",
                    [&](int values) { return with(cheaper(kAll), values); });
    return std::nullopt;
  }

  // With that number of values on the host, where any may be; `hidden`: as far as the link is free.
  Compiled with(Recompute recompute, int on_host, bool hidden = false) {
    options_.plan.recompute = recompute;
    options_.plan.offload.activations = offload_.activations && on_host > 0;
    options_.plan.offload.values = on_host;
    options_.plan.offload.hidden = hidden;
    return compile_as_planned(module_, options_);
  }

  template <typename With>
  Compiled fewest(Compiled enough, std::string_view pass, const With& compiled_with) {
    least_values(values_of(enough, pass), [&](int values) {
      Compiled some = compiled_with(values);
      const bool fit = fits(some);
      if (fit) enough = std::move(some);
      return fit;
    });
    return enough;
  }

  const Module& module_;
  CompileOptions options_;
  int64_t memory_;
  Offload offload_;
};

Compiled compile_to_fit(const Module& module, const CompileOptions& options) {
  if (options.profile.memory_bytes == 0)
    throw user_error("plan.recompute = fit needs to know a rank's memory")
        .at("plan.recompute")
        .help("set plan.memory, such as 8GB");
  return Fit(module, options).run();
}

}  // namespace

int64_t most_bytes(const std::vector<Program>& programs) {
  int64_t most = 0;
  for (const Program& program : programs) most = std::max(most, program.peak_bytes());
  return most;
}

int rebuilt_values(const Compiled& compiled) { return values_of(compiled, "recompute"); }

int least_values(int all, const std::function<bool(int)>& fits) {
  int too_few = 0, enough = all;
  while (enough - too_few > 1) {
    const int middle = (enough + too_few) / 2;
    (fits(middle) ? enough : too_few) = middle;
  }
  return enough;
}

Compiled compile(Module module, const CompileOptions& options) {
  if (!options.training && options.plan.recompute.kind != RecomputeKind::None) {
    CompileOptions forward = options;
    forward.plan.recompute = {};  // no backward reads what would be rebuilt
    return compile_as_planned(std::move(module), forward);
  }
  if (options.plan.recompute.kind == RecomputeKind::Fit) return compile_to_fit(module, options);
  return compile_as_planned(std::move(module), options);
}

}  // namespace tessera
