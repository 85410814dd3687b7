// SPDX-License-Identifier: Apache-2.0
// Threads: all of a number or none, and numbered parts of work that several share.
#pragma once

#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace tessera {

// Starts all threads or none: if the system refuses one, no body has run, the started threads are
// joined, and a UserError says what to do.
UserError refused_threads(int wanted, size_t begun);

// body(0), ..., body(count - 1), each on its own thread.
std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body);

template <typename Thread = std::thread, typename Body>
Thread start_thread(Body&& body) {
  try {
    return Thread(std::forward<Body>(body));
  } catch (const std::system_error&) {
    throw refused_threads(1, 0);
  }
}

// Runs numbered parts of work on several threads: each takes the next free part. If the system
// starts fewer threads than requested, those do all the work.
// Calls work(part, thread) for every part, where thread 0 is the calling one. The first error ends
// all threads and is rethrown here. 0 threads: one per core.
void run_parts(size_t parts, int threads, const std::function<void(size_t, size_t)>& work);
int threads_or_cores(int threads);

}  // namespace tessera
