// SPDX-License-Identifier: Apache-2.0
#include "system/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tessera {

UserError refused_threads(int wanted, size_t begun) {
  return user_error("the system started only {} of {} more threads", begun, wanted)
      .help(
          "use fewer threads (train.threads, --threads) or ranks, or allow more: ulimit -u and "
          "-v, pids.max of the control group");
}

std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  std::promise<bool> all;
  const std::shared_future<bool> all_begun = all.get_future().share();
  try {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([all_begun, body, i] {
        if (all_begun.get()) body(i);
      });
  } catch (const std::exception& error) {
    all.set_value(false);
    for (std::thread& thread : threads) thread.join();
    if (!dynamic_cast<const std::system_error*>(&error)) throw;
    throw refused_threads(count, threads.size());
  }
  all.set_value(true);
  return threads;
}

int threads_or_cores(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void run_parts(size_t parts, int threads, const std::function<void(size_t, size_t)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto run = [&](size_t thread) {
    try {
      for (size_t part = next++; part < parts; part = next++) work(part, thread);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = parts;
    }
  };
  const size_t most = std::min(parts, static_cast<size_t>(threads_or_cores(threads)));
  std::vector<std::jthread> others;
  try {
    for (size_t thread = 1; thread < most; ++thread) others.emplace_back(run, thread);
  } catch (const std::system_error&) {
  }
  run(0);
  others.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera
