// SPDX-License-Identifier: Apache-2.0
// The loss of a stored model on given samples: the mean over their labels.
#pragma once

#include <functional>

#include "checkpoint/state_source.h"
#include "config/config.h"
#include "data/batch.h"
#include "data/batch_feeder.h"

namespace tessera {

struct Evaluation {
  double loss = 0;
  int64_t samples = 0, labels = 0;
  double seconds = 0;
  int64_t planned_bytes = 0;  // of all ranks
};

// Runs as `config` says: precision, batch, mesh, device. On the first `samples` of the source;
// `progress` receives the number of samples done after every batch.
Evaluation evaluate_model(const StateSource& stored, const Config& config,
                          const SampleSource& source, int64_t samples, bool averaged,
                          const std::function<void(int64_t)>& progress = {});

// The loss of the weights that an executor holds, on samples: the mean over their labels.
struct SampleLosses {
  double loss = 0;
  int64_t labels = 0;
};

// On the first `samples` of the source; `progress` receives the number of samples done after every
// batch. `repeats` says after each whether it has to be run again.
SampleLosses sample_losses(Executor& executor, BatchFeeder& feeder, const SampleSource& source,
                           int64_t samples, int64_t batch_samples,
                           const std::function<void(int64_t)>& progress = {},
                           const std::function<bool()>& repeats = {});

}  // namespace tessera
