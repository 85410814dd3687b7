// SPDX-License-Identifier: Apache-2.0
#include "system/run_parts.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

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
