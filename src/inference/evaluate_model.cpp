// SPDX-License-Identifier: Apache-2.0
#include "inference/evaluate_model.h"

#include <chrono>

#include "config/model_of_config.h"
#include "config/training_options.h"
#include "exec/device_executor.h"
#include "exec/mesh_executor.h"
#include "inference/sample_losses.h"
#include "models/build_model.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

// Only the forward: nothing of a training step is compiled or held in memory.
std::unique_ptr<Executor> make_executor(const Config& config) {
  const ModelConfig model = model_of_config(config);
  const Plan plan = plan_of_config(config, model);
  const bool gpu = config.run.device == "cuda";
  if (gpu) require_gpu();
  const int per_rank = gpu ? 1 : threads_per_rank(threads_of_config(config), plan);
  CompileOptions options = training_options(config, plan, per_rank);
  options.training = false;
  Compiled compiled = compile(build_model(model, microbatch_shape(config, model),
                                          precision_of_config(config), HeadKind::Loss),
                              options);
  if (gpu) return make_cuda_executor(std::move(compiled.programs));
  return make_cpu_executor(std::move(compiled.programs),
                           {.threads = per_rank, .deadline_seconds = config.run.deadline_seconds});
}

}  // namespace

Evaluation evaluate_model(const StateSource& stored, const Config& config,
                          const SampleSource& source, int64_t samples, bool averaged,
                          const std::function<void(int64_t)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<Executor> executor = make_executor(config);
  stored.load_weights(*executor, averaged);
  BatchFeeder feeder(*executor, source.fields(), config.train.batch);
  const SampleLosses found =
      sample_losses(*executor, feeder, source, samples, config.train.batch, progress);
  return {.loss = found.loss,
          .samples = samples,
          .labels = found.labels,
          .seconds = seconds_since(begin),
          .planned_bytes = executor->planned_bytes()};
}

}  // namespace tessera
