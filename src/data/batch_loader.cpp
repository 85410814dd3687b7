// SPDX-License-Identifier: Apache-2.0
#include "data/batch_loader.h"

#include <chrono>

#include "system/threads.h"

namespace tessera {
namespace {

constexpr int64_t kBatches = 3;  // one in use, one ready, one being made

}  // namespace

BatchLoader::BatchLoader(const SampleSource& source, int64_t samples_per_batch,
                         int64_t first_sample)
    : source_(source), first_sample_(first_sample) {
  for (int64_t i = 0; i < kBatches; ++i) ring_.emplace_back(source.fields(), samples_per_batch);
  thread_ = start_thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchLoader::run() {
  for (int64_t number = 0;; ++number) {
    Batch& batch = ring_[static_cast<size_t>(number % kBatches)];
    {
      std::unique_lock lock(mutex_);
      // The slot is free once the caller has taken the batch after the one that was in it.
      changed_.wait(
          lock, [&] { return stopping_ || number < kBatches || taken_ > number - kBatches + 1; });
      if (stopping_) return;
    }
    std::exception_ptr error;
    try {
      fill_batch(source_, first_sample_ + number * batch.num_samples(), batch);
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      error_ = error;
      if (!error) ++made_;
    }
    changed_.notify_all();
    if (error) return;
  }
}

BatchLoader::Loaded BatchLoader::next() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  ++taken_;  // releases the batch that the caller held
  changed_.notify_all();
  changed_.wait(lock, [&] { return made_ >= taken_ || error_; });
  if (made_ < taken_) {
    --taken_;
    std::rethrow_exception(error_);
  }
  Batch& batch = ring_[static_cast<size_t>((taken_ - 1) % kBatches)];
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
  return {batch, waited.count()};
}

}  // namespace tessera
