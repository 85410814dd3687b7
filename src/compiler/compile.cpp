// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <algorithm>

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

// The least that is rebuilt so that every rank fits: a growing number of values, then blocks.
Compiled compile_to_fit(const Module& module, CompileOptions options) {
  const int64_t memory = options.profile.memory_bytes;
  if (memory == 0)
    throw user_error("plan.recompute = fit needs to know a rank's memory")
        .at("plan.recompute")
        .help("set plan.memory, such as 8GB");
  const auto with = [&](Recompute recompute) {
    options.plan.recompute = recompute;
    return compile_as_planned(module, options);
  };
  Compiled compiled = with({});
  if (most_bytes(compiled.programs) <= memory) return compiled;
  Compiled enough = with(kAllValues);
  if (most_bytes(enough.programs) <= memory) {
    least_values(rebuilt_values(enough), [&](int values) {
      Compiled some = with({.kind = RecomputeKind::Values, .values = values});
      const bool fits = most_bytes(some.programs) <= memory;
      if (fits) enough = std::move(some);
      return fits;
    });
    return enough;
  }
  Compiled blocks = with({.kind = RecomputeKind::Blocks, .every = 1});
  if (most_bytes(blocks.programs) > memory)
    throw user_error("a rank needs {} bytes even if it recomputes every block, but has {}",
                     most_bytes(blocks.programs), memory)
        .at("plan.recompute")
        .help("use more ranks, smaller microbatches or plan.zero = 3");
  return blocks;
}

}  // namespace

int64_t most_bytes(const std::vector<Program>& programs) {
  int64_t most = 0;
  for (const Program& program : programs) most = std::max(most, program.peak_bytes());
  return most;
}

int rebuilt_values(const Compiled& compiled) {
  for (const PassReport& pass : compiled.passes)
    for (const auto& [what, count] : pass.counts)
      if (pass.name == "recompute" && what == "values") return static_cast<int>(count);
  return 0;
}

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
