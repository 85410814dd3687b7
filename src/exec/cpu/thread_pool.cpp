// SPDX-License-Identifier: Apache-2.0
#include "exec/cpu/thread_pool.h"

#include <chrono>
#include <utility>

#include "exec/cpu/processor.h"
#include "system/threads.h"

namespace tessera {
namespace {

// Long enough to bridge the gap between two kernels, short enough not to burn a core while the host
// reads data.
constexpr auto kSpin = std::chrono::microseconds(200);
// The caller's patience with the last tasks; a worker that lost its core may need this one.
constexpr int64_t kSpinsBeforeYield = 1000;

}  // namespace

ThreadPool::ThreadPool(int threads) {
  spin_ = threads <= static_cast<int>(std::thread::hardware_concurrency());
  workers_ = start_threads(threads - 1, [this](int i) { work(i + 1); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// The low bits of a ticket count the tasks not yet taken. While there is one, the run cannot end,
// so body, call and tasks are this run's; a ticket of none left says nothing about them, and is
// left.
void ThreadPool::take_tasks(uint64_t generation, int worker) {
  constexpr uint64_t kTaskMask = (uint64_t{1} << kTaskBits) - 1;
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (ticket >> kTaskBits == generation && (ticket & kTaskMask) != 0) {
    const int64_t task =
        tasks_.load(std::memory_order_relaxed) - static_cast<int64_t>(ticket & kTaskMask);
    const Job job{body_.load(std::memory_order_relaxed), call_.load(std::memory_order_relaxed)};
    if (!ticket_.compare_exchange_weak(ticket, ticket - 1)) continue;
    try {
      job.call(job.body, task, worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_release);
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void ThreadPool::run_erased(int64_t tasks, Job job) {
  if (workers_.empty() || tasks <= 1) {
    for (int64_t task = 0; task < tasks; ++task) job.call(job.body, task, 0);
    return;
  }
  const uint64_t next = generation() + 1;
  body_.store(job.body, std::memory_order_relaxed);
  call_.store(job.call, std::memory_order_relaxed);
  tasks_.store(tasks, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  ticket_.store((next << kTaskBits) + static_cast<uint64_t>(tasks));
  if (sleepers_.load() > 0) {
    { const std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  take_tasks(next, 0);
  for (int64_t spins = 0; done_.load(std::memory_order_acquire) != tasks; ++spins) {
    if (spin_ && spins < kSpinsBeforeYield)
      spin_hint();
    else
      std::this_thread::yield();
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::work(int worker) {
  uint64_t seen = 0;
  while (true) {
    const auto deadline = std::chrono::steady_clock::now() + kSpin;
    while (spin_ && generation() == seen && !stop_ && std::chrono::steady_clock::now() < deadline)
      for (int i = 0; i < 32; ++i) spin_hint();
    if (generation() == seen && !stop_) {
      std::unique_lock lock(mutex_);
      // Counted before the last look at the ticket: either the caller sees a sleeper or the sleeper
      // sees the ticket.
      ++sleepers_;
      wake_.wait(lock, [&] { return stop_ || generation() != seen; });
      --sleepers_;
    }
    if (stop_) return;
    seen = generation();
    take_tasks(seen, worker);
  }
}

}  // namespace tessera
