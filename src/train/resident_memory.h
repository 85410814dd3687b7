// SPDX-License-Identifier: Apache-2.0
// What the system says that this process has held in memory.
#pragma once

#include <cstdint>

namespace tessera {

int64_t peak_resident_bytes();

}  // namespace tessera
