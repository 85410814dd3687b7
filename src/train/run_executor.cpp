// SPDX-License-Identifier: Apache-2.0
#include "train/run_executor.h"

#include "comm/local/local_report.h"
#include "comm/machines.h"
#include "config/model_of_config.h"
#include "config/plan_of_config.h"
#include "config/training_options.h"
#include "exec/device_executor.h"
#include "exec/gpu_matmul.h"
#include "exec/job_executor.h"
#include "exec/mesh_executor.h"
#include "measure/compile_step.h"
#include "measure/fitting_step.h"
#include "mesh/machine_borders.h"
#include "models/build_model.h"
#include "record/machine_facts.h"

namespace tessera {
namespace {

void check_job_size(const Mesh& mesh, const RankWorld& world) {
  if (world.size() == mesh.num_ranks()) return;
  throw user_error("the mesh {} has {} ranks, but the job has {} processes", to_string(mesh),
                   mesh.num_ranks(), world.size())
      .help(fmt::format("start {} processes: mpirun -np {}", mesh.num_ranks(), mesh.num_ranks()));
}

std::unique_ptr<Executor> executor_of(const Config& config, std::vector<Program> programs,
                                      int threads, RankWorld* world, RankObserver observer) {
  const bool on_gpu = config.run.device == "cuda";
  if (on_gpu && world)
    return std::make_unique<JobExecutor>(programs,
                                         make_cuda_rank(at_place(programs, world->rank()), *world,
                                                        {.observer = std::move(observer)}),
                                         *world);
  if (on_gpu) return make_fitting_cuda_executor(config, std::move(programs), std::move(observer));
  if (world) return make_cpu_job(programs, threads, *world, std::move(observer));
  return make_cpu_executor(std::move(programs), {.threads = threads,
                                                 .deadline_seconds = config.run.deadline_seconds,
                                                 .on_failure =
                                                     [run = config.run.out](const LocalHub& hub) {
                                                       write_failure_report(hub, run);
                                                     },
                                                 .observer = std::move(observer)});
}

std::string note_of_plan(const Plan& plan, const Program& program) {
  if (plan.zero > 0 && plan.single())
    return fmt::format("plan.zero = {} shards nothing on one rank", plan.zero);
  return gathers_text(program);
}

}  // namespace

RunExecutor make_run_executor(const Config& config, const ModelConfig& model, int threads,
                              RankWorld* world, RankObserver observer) {
  const bool on_gpu = config.run.device == "cuda";
  if (on_gpu) require_gpu();
  const Plan plan = plan_of_config(config, model);
  const int per_rank = on_gpu ? 1 : threads_per_rank(threads, plan);
  if (world) check_job_size(plan.mesh, *world);
  const Precision precision = precision_of_config(config);
  Compiled compiled =
      compile_step(build_model(model, microbatch_shape(config, model), precision, HeadKind::Loss),
                   config, training_options(config, plan, per_rank));
  RunExecutor made{.executor = nullptr,
                   .facts = facts_of(config, model, compiled),
                   .note = note_of_plan(plan, compiled.programs.front()),
                   .warnings = {}};
  const std::vector<int> machines = world ? machines_of_ranks(*world) : std::vector<int>{};
  if (on_gpu && world) take_gpu_of_rank(world->rank(), machines);
  if (on_gpu)
    add_gpus(made.facts, machines);
  else
    add_cores(made.facts, machines, world);
  made.warnings.push_back(warn_of_machine_borders(plan.mesh, machines));
  if (on_gpu) made.warnings.push_back(slow_dtype_warning(precision.compute));
  std::erase(made.warnings, "");
  made.executor =
      executor_of(config, std::move(compiled.programs), per_rank, world, std::move(observer));
  return made;
}

}  // namespace tessera
