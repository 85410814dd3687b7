// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/run_parts.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/start_threads.h"

namespace tessera {

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
  std::vector<std::thread> others =
      start_threads(threads_or_cores(threads) - 1, [&](int i) { run(static_cast<size_t>(i) + 1); });
  run(0);
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera
