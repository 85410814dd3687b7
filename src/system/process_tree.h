// SPDX-License-Identifier: Apache-2.0
// Processes of this machine from /proc: parents, children and states. A process that has ended
// meanwhile has no children, no name and no state.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tessera {

// 'T' is stopped, 'Z' dead but not yet waited for; 0 if there is no such process.
char process_state(pid_t process);
std::string process_name(pid_t process);  // the first 15 bytes of its program's
std::vector<pid_t> children_of(pid_t process);
std::vector<pid_t> descendants_of(pid_t process);

}  // namespace tessera
