// SPDX-License-Identifier: Apache-2.0
#include "train/run_executor.h"

#include "checkpoint/snapshot.h"
#include "comm/machines.h"
#include "exec/device.h"
#include "measure/fitting_step.h"
#include "mesh/machine_borders.h"
#include "record/run_facts.h"

namespace tessera {
namespace {

void check_job_size(const Mesh& mesh, const RankWorld& world) {
  if (world.size() == mesh.num_ranks()) return;
  throw user_error("the mesh {} has {} ranks, but the job has {} processes", to_string(mesh),
                   mesh.num_ranks(), world.size())
      .help(fmt::format("start {} processes: mpirun -np {}", mesh.num_ranks(), mesh.num_ranks()));
}

std::string note_of_plan(const Plan& plan, const Program& program) {
  if (plan.zero > 0 && plan.single())
    return fmt::format("plan.zero = {} shards nothing on one rank", plan.zero);
  return gathers_text(program);
}

// Nothing before the run has a folder.
void write_report_of(const std::filesystem::path& run, std::string_view cause,
                     std::span<const RankReport> ranks) {
  std::error_code ignored;
  if (std::filesystem::exists(run, ignored)) write_failure_file(run, cause, ranks);
}

}  // namespace

RunExecutor make_run_executor(const Config& config, RankWorld* world, RankObserver observer,
                              RankFault fault) {
  const RunSpec spec = resolve(config);
  const Device& device = require_device(spec.device);
  if (world) check_job_size(spec.plan.mesh, *world);
  Compiled compiled = compile_beside_snapshot(spec);
  RunExecutor made{.executor = nullptr,
                   .facts = facts_of(config, spec, compiled),
                   .note = note_of_plan(spec.plan, compiled.programs.front()),
                   .warnings = {}};
  const std::vector<int> machines = world ? machines_of_ranks(*world) : std::vector<int>{};
  if (world) device.take_for_rank(world->rank(), machines);
  add_machine(made.facts, spec.device, machines, world);
  made.warnings = {warn_of_machine_borders(spec.plan.mesh, machines),
                   device.slow_dtype_warning(spec.precision.compute)};
  std::erase(made.warnings, "");
  made.executor = make_fitting_executor(
      config, spec, std::move(compiled.programs),
      {.deadline_seconds = config.run.deadline_seconds,
       .on_failure = [run = config.run.out](
                         std::string_view cause,
                         std::span<const RankReport> ranks) { write_report_of(run, cause, ranks); },
       .observer = std::move(observer),
       .fault = std::move(fault)},
      world);
  return made;
}

}  // namespace tessera
