// SPDX-License-Identifier: Apache-2.0
#include "inference/evaluate_model.h"

#include <algorithm>
#include <chrono>

#include "config/compile_step.h"
#include "core/error.h"
#include "data/token_sampler.h"
#include "exec/device.h"
#include "exec/make_executor.h"
#include "models/lora.h"
#include "system/seconds_since.h"

namespace tessera {

namespace {

void require_adapters(const StateSource& stored, const ModelConfig& model) {
  const bool has_some = std::ranges::any_of(
      stored.tensors(), [](const auto& tensor) { return is_adapter(tensor.first); });
  if (has_some && !model.lora.is_on())
    throw user_error("{} has adapters, but lora.rank is 0", stored.path().string())
        .at("lora.rank")
        .help("leave lora.rank out, or evaluate their base");
}

}  // namespace

Evaluation evaluate_model(const StateSource& stored, const Config& config,
                          const SampleSource& source, int64_t samples, bool averaged,
                          const std::function<void(int64_t)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const RunSpec spec = resolve(config);
  require_device(spec.device);
  require_adapters(stored, spec.model);
  // The forward alone: nothing of a training step is compiled or held.
  const std::unique_ptr<Executor> executor =
      make_executor(spec, compile(spec, {.training = false}).programs,
                    {.deadline_seconds = config.run.deadline_seconds});
  stored.load_weights(*executor, averaged);
  BatchFeeder feeder(*executor, source.fields(), spec.batch());
  const SampleLosses found =
      sample_losses(*executor, feeder, source, samples, spec.batch(), progress);
  return {.loss = found.loss,
          .samples = samples,
          .labels = found.labels,
          .seconds = seconds_since(begin),
          .planned_bytes = executor->planned_bytes()};
}

namespace {

// Rows after the last sample do not count.
void fill_rows(const SampleSource& source, int64_t first, int64_t end, Batch& batch) {
  fill_batch(source, first, batch);
  if (first + batch.num_samples() <= end) return;
  const size_t labels = batch.field_index("labels");
  for (int64_t row = end - first; row < batch.num_samples(); ++row)
    std::ranges::fill(batch.row<int32_t>(labels, row), kIgnoredLabel);
}

}  // namespace

SampleLosses sample_losses(Executor& executor, BatchFeeder& feeder, const SampleSource& source,
                           int64_t samples, int64_t batch_samples,
                           const std::function<void(int64_t)>& progress,
                           const std::function<bool()>& repeats) {
  Batch batch(source.fields(), batch_samples);
  double sum = 0, labels = 0;
  for (int64_t first = 0; first < samples; first += batch_samples) {
    fill_rows(source, first, samples, batch);
    do {
      feeder.feed(batch);
      executor.run("evaluate");
    } while (repeats && repeats());
    const double count = executor.read_step("label_count");
    sum += executor.read_step("loss") * count;
    labels += count;
    if (progress) progress(std::min(samples, first + batch_samples));
  }
  if (labels == 0)
    throw user_error("none of the {} samples has a label", samples)
        .help("a label is a token that follows another token of the same document");
  return {.loss = sum / labels, .labels = static_cast<int64_t>(labels)};
}

}  // namespace tessera
