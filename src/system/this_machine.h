// SPDX-License-Identifier: Apache-2.0
// What this computer is; empty or 0 where the system does not say.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

std::string cpu_model_name();
int cores_online();
double installed_memory_bytes();
int64_t available_memory_bytes();  // without swapping anything out

}  // namespace tessera
