// SPDX-License-Identifier: Apache-2.0
// For tests, in a process that ends with them: makes the system refuse more than a few more
// threads. It limits the address space for their stacks, because a limit on processes does not
// apply to root.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tessera {

// Leaves space for this many more stacks, plus half a stack for the heap to grow.
inline void leave_room_for_stacks(double stacks) {
  pthread_attr_t attributes;
  size_t stack_bytes = 0, pages = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &stack_bytes);
  pthread_attr_destroy(&attributes);
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) +
                       static_cast<rlim_t>(static_cast<double>(stack_bytes) * stacks);
  const rlimit limit{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
}

}  // namespace tessera
