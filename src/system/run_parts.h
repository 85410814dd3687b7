// SPDX-License-Identifier: Apache-2.0
// Runs numbered parts of work on several threads: each takes the next free part. If the system
// starts fewer threads than requested, those do all the work.
#pragma once

#include <cstddef>
#include <functional>

namespace tessera {

// Calls work(part, thread) for every part, where thread 0 is the calling one. The first error ends
// all threads and is rethrown here. 0 threads: one per core.
void run_parts(size_t parts, int threads, const std::function<void(size_t, size_t)>& work);
int threads_or_cores(int threads);

}  // namespace tessera
