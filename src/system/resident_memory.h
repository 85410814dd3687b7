// SPDX-License-Identifier: Apache-2.0
// What the system says that this process has held in memory, and whether it has what a plan takes:
// pages are given when they are first touched, so without asking a run would be killed later.
#pragma once

#include <cstdint>

namespace tessera {

int64_t peak_resident_bytes();

// A UserError where a machine of `installed_bytes` (0: not known) lacks what is planned for it.
void require_memory(int64_t planned_bytes, double installed_bytes);

}  // namespace tessera
