// SPDX-License-Identifier: Apache-2.0
// Processes of this machine, from /proc: how old this one is and how much memory it uses; parents,
// children and states.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

double process_age_seconds();

// The peak resident memory of this process, and a check that the machine has the memory that a plan
// needs: pages are allocated when they are first touched, so without the check a run would be
// killed later.
int64_t peak_resident_bytes();

// A UserError if a machine with `installed_bytes` (0: unknown) has less than the plan needs.
void require_memory(int64_t planned_bytes, double installed_bytes);

// Processes of this machine from /proc: parents, children and states. A process that has ended
// meanwhile has no children, no name and no state.
// 'T' is stopped, 'Z' dead but not yet waited for; 0 if there is no such process.
char process_state(pid_t process);
std::string process_name(pid_t process);  // the first 15 bytes of its program's
std::vector<pid_t> children_of(pid_t process);
std::vector<pid_t> descendants_of(pid_t process);

}  // namespace tessera
