// SPDX-License-Identifier: Apache-2.0
#include "inference/evaluate_model.h"

#include <chrono>

#include "config/compile_step.h"
#include "exec/device.h"
#include "exec/make_executor.h"
#include "inference/sample_losses.h"
#include "system/seconds_since.h"

namespace tessera {
Evaluation evaluate_model(const StateSource& stored, const Config& config,
                          const SampleSource& source, int64_t samples, bool averaged,
                          const std::function<void(int64_t)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const RunSpec spec = resolve(config);
  require_device(spec.device);
  // The forward alone: nothing of a training step is compiled or held.
  const std::unique_ptr<Executor> executor =
      make_executor(spec, compile(spec, {.training = false}).programs,
                    {.deadline_seconds = config.run.deadline_seconds});
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
