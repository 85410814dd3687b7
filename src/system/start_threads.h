// SPDX-License-Identifier: Apache-2.0
// Starts all threads or none: if the system refuses one, no body has run, the started threads are
// joined, and a UserError says what to do.
#pragma once

#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"

namespace tessera {

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

}  // namespace tessera
