// SPDX-License-Identifier: Apache-2.0
// Stands in for system/threads.cpp: parts of work one after another, on the calling thread.
#include <sched.h>

#include "system/threads.h"

namespace tessera {

int threads_or_cores(int) { return 1; }

void run_parts(size_t parts, int, const std::function<void(size_t, size_t)>& work) {
  for (size_t part = 0; part < parts; ++part) work(part, 0);
}

}  // namespace tessera

// The C library declares these two and does not have them. No affinity is known, which stands for
// one core.
extern "C" int sched_getaffinity(pid_t, size_t, cpu_set_t*) { return -1; }
extern "C" int __sched_cpucount(size_t, const cpu_set_t*) { return 1; }
