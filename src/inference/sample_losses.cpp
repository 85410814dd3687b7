// SPDX-License-Identifier: Apache-2.0
#include "inference/sample_losses.h"

#include <algorithm>

#include "core/error.h"
#include "data/token_sampler.h"

namespace tessera {
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
                           const std::function<void(int64_t)>& progress) {
  Batch batch(source.fields(), batch_samples);
  double sum = 0, labels = 0;
  for (int64_t first = 0; first < samples; first += batch_samples) {
    fill_rows(source, first, samples, batch);
    feeder.feed(batch);
    executor.run("evaluate");
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
