// SPDX-License-Identifier: Apache-2.0
// A thread that prepares the batches of coming steps while the current one runs. Batches are
// allocated once and reused. A batch is a pure function of its first sample: no result depends on
// timing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batch.h"

namespace tessera {

class BatchLoader {
 public:
  // Loads samples first_sample, first_sample + 1, ... in batches. `source` must outlive the loader.
  BatchLoader(const SampleSource& source, int64_t samples_per_batch, int64_t first_sample);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  struct Loaded {
    Batch& batch;           // valid until the next call
    double waited_seconds;  // that the caller waited for the batch
  };
  // Rethrows the exception of the thread when it prepared this batch.
  Loaded next();

 private:
  void run();

  const SampleSource& source_;
  std::vector<Batch> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_. Batch number b is in ring_[b % size]; the caller holds number taken_ - 1.
  int64_t made_ = 0, taken_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
  int64_t first_sample_;
  std::thread thread_;
};

}  // namespace tessera
