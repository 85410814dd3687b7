// SPDX-License-Identifier: Apache-2.0
#include "train/evaluate_model.h"

#include <algorithm>
#include <chrono>

#include "core/seconds_since.h"
#include "exec/device_executor.h"
#include "exec/mesh_executor.h"
#include "models/build_model.h"
#include "train/batch_feeder.h"
#include "train/data/token_sampler.h"
#include "train/model_of_config.h"
#include "train/training_options.h"

namespace tessera {
namespace {

// One rank runs the forward alone; a mesh the forward of its training step.
std::unique_ptr<Executor> make_executor(const Config& config) {
  const ModelConfig model = model_of_config(config);
  const Plan plan = plan_of_config(config, model);
  const bool gpu = config.run.device == "cuda";
  const int per_rank = gpu ? 1 : threads_per_rank(threads_of_config(config), plan);
  CompileOptions options = training_options(config, plan, per_rank);
  options.training = plan.mesh.num_ranks() > 1;
  Compiled compiled = compile(build_model(model, microbatch_shape(config, model),
                                          precision_of_config(config), HeadKind::Loss),
                              options);
  if (gpu) return make_cuda_executor(std::move(compiled.programs));
  return make_cpu_executor(std::move(compiled.programs),
                           {.threads = per_rank, .deadline_seconds = config.run.deadline_seconds});
}

// Rows behind the last sample count nothing.
void fill_rows(const SampleSource& source, int64_t first, int64_t end, Batch& batch) {
  fill_batch(source, first, batch);
  const size_t labels = batch.field_index("labels");
  for (int64_t row = std::max<int64_t>(0, end - first); row < batch.num_samples(); ++row)
    std::ranges::fill(batch.row<int32_t>(labels, row), kIgnoredLabel);
}

}  // namespace

Evaluation evaluate_model(const StateSource& stored, const Config& config,
                          const SampleSource& source, int64_t samples, bool averaged) {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<Executor> executor = make_executor(config);
  stored.load_weights(*executor, averaged);
  BatchFeeder feeder(*executor, source.fields(), config.train.batch);
  Batch batch(source.fields(), config.train.batch);
  Evaluation evaluation{.samples = samples};
  double sum = 0, labels = 0;
  for (int64_t first = 0; first < evaluation.samples; first += config.train.batch) {
    fill_rows(source, first, evaluation.samples, batch);
    feeder.feed(batch);
    executor->run("evaluate");
    const double count = executor->read_step("label_count");
    sum += executor->read_step("loss") * count;
    labels += count;
  }
  evaluation.labels = static_cast<int64_t>(labels);
  evaluation.loss = labels > 0 ? sum / labels : 0;
  evaluation.seconds = seconds_since(begin);
  return evaluation;
}

}  // namespace tessera
