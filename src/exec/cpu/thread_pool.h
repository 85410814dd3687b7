// SPDX-License-Identifier: Apache-2.0
// A rank's own threads. `run` calls body(task, worker) for every task in [0, tasks) and returns
// when all are done; the caller works too. What a task computes must depend on the task alone, so
// that the number of threads never changes the bits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace tessera {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // body(int64_t task, int worker); worker in [0, threads()) names the thread, for its part of a
  // workspace.
  template <typename Body>
  void run(int64_t tasks, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased(tasks, {.body = const_cast<void*>(static_cast<const void*>(&body)),
                       .call = [](void* b, int64_t task, int worker) {
                         (*static_cast<Plain*>(b))(task, worker);
                       }});
  }

  // Splits [0, count) into pieces of `grain` (the last may be shorter): body(begin, end, worker).
  template <typename Body>
  void run_ranges(int64_t count, int64_t grain, Body&& body) {
    run((count + grain - 1) / grain, [&](int64_t task, int worker) {
      const int64_t begin = task * grain;
      body(begin, begin + grain < count ? begin + grain : count, worker);
    });
  }

 private:
  struct Job {
    void* body = nullptr;
    void (*call)(void*, int64_t, int) = nullptr;
  };
  void run_erased(int64_t tasks, Job job);
  void work(int worker);
  void take_tasks(uint64_t generation, int worker);
  uint64_t generation() const { return ticket_.load() >> kTaskBits; }

  // A ticket is (generation of run, next task). A task is taken by adding one, which fails once the
  // run is over: so a worker that wakes late touches nothing, and no run waits for it.
  static constexpr int kTaskBits = 32;
  alignas(64) std::atomic<uint64_t> ticket_{0};
  std::atomic<int64_t> tasks_{0};
  std::atomic<void*> body_{nullptr};
  std::atomic<void (*)(void*, int64_t, int)> call_{nullptr};
  alignas(64) std::atomic<int64_t> done_{0};
  std::exception_ptr error_;  // the first; guarded by mutex_ until the run is over

  alignas(64) std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool spin_ = true;  // only while the threads fit the cores
  std::vector<std::thread> workers_;
};

}  // namespace tessera
