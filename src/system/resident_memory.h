// SPDX-License-Identifier: Apache-2.0
// The peak resident memory of this process, and a check that the machine has the memory that a plan
// needs: pages are allocated when they are first touched, so without the check a run would be
// killed later.
#pragma once

#include <cstdint>

namespace tessera {

int64_t peak_resident_bytes();

// A UserError if a machine with `installed_bytes` (0: unknown) has less than the plan needs.
void require_memory(int64_t planned_bytes, double installed_bytes);

}  // namespace tessera
