// SPDX-License-Identifier: Apache-2.0
// Stands in for system/threads.cpp: parts of work one after another, on the calling thread.
#include "system/threads.h"

namespace tessera {

int threads_or_cores(int) { return 1; }

void run_parts(size_t parts, int, const std::function<void(size_t, size_t)>& work) {
  for (size_t part = 0; part < parts; ++part) work(part, 0);
}

}  // namespace tessera
