// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/thread_pool.h"

#include <chrono>

namespace tessera {
namespace {

// Long enough to bridge the gap between two kernels, short enough not to burn a core while the host
// reads data.
constexpr auto kSpin = std::chrono::microseconds(200);

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  spin_ = threads <= static_cast<int>(std::thread::hardware_concurrency());
  for (int worker = 1; worker < threads; ++worker)
    workers_.emplace_back([this, worker] { work(worker); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::take_tasks(int worker) {
  for (int64_t task = next_task_.fetch_add(1); task < tasks_; task = next_task_.fetch_add(1))
    job_.call(job_.body, task, worker);
}

void ThreadPool::run_erased(int64_t tasks, Job job) {
  if (workers_.empty() || tasks <= 1) {
    for (int64_t task = 0; task < tasks; ++task) job.call(job.body, task, 0);
    return;
  }
  job_ = job;
  tasks_ = tasks;
  next_task_ = 0;
  busy_ = static_cast<int>(workers_.size());
  {
    const std::lock_guard lock(mutex_);
    ++generation_;
  }
  wake_.notify_all();
  take_tasks(0);
  while (busy_.load(std::memory_order_acquire) != 0) {
    if (spin_)
      pause();
    else
      std::this_thread::yield();
  }
}

void ThreadPool::work(int worker) {
  uint64_t seen = 0;
  while (true) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    while (spin_ && generation_.load(std::memory_order_acquire) == seen && !stop_ &&
           std::chrono::steady_clock::now() < deadline)
      for (int i = 0; i < 32; ++i) pause();
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || generation_ != seen; });
    }
    if (stop_) return;
    seen = generation_;
    take_tasks(worker);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace tessera
