// SPDX-License-Identifier: Apache-2.0
#include "system/start_threads.h"

#include <future>

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

}  // namespace tessera
