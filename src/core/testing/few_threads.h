// SPDX-License-Identifier: Apache-2.0
// For tests, in a process that ends with them: a system that starts only a few more threads. What
// it is denied is address space for their stacks, because a limit of processes is none for root.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tessera {

// Room for so many more stacks; of half a one the heap may still grow by what small work needs.
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
