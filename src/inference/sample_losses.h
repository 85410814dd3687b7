// SPDX-License-Identifier: Apache-2.0
// The loss of the weights that an executor holds, on samples: the mean over their labels.
#pragma once

#include <functional>

#include "data/batch_feeder.h"

namespace tessera {

struct SampleLosses {
  double loss = 0;
  int64_t labels = 0;
};

// On the first `samples` of the source; `progress` receives the number of samples done after every
// batch.
SampleLosses sample_losses(Executor& executor, BatchFeeder& feeder, const SampleSource& source,
                           int64_t samples, int64_t batch_samples,
                           const std::function<void(int64_t)>& progress = {});

}  // namespace tessera
