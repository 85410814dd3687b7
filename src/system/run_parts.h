// SPDX-License-Identifier: Apache-2.0
// Work in numbered parts, on several threads: each takes the next part that nobody has. Where the
// system starts fewer threads than asked for, those that are there do it all.
#pragma once

#include <cstddef>
#include <functional>

namespace tessera {

// Calls work(part, thread) for every part, of threads from 0, which is this one. The first error
// ends it all and is thrown here. 0 threads: one per core.
void run_parts(size_t parts, int threads, const std::function<void(size_t, size_t)>& work);
int threads_or_cores(int threads);

}  // namespace tessera
