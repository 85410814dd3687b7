// SPDX-License-Identifier: Apache-2.0
// Several threads, all or none: where the system refuses one, no body has run, those that were
// begun are joined, and a UserError says what to do.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace tessera {

// body(0), ..., body(count - 1), each on a thread of its own.
std::vector<std::thread> start_threads(int count, const std::function<void(int)>& body);

}  // namespace tessera
