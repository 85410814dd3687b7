// SPDX-License-Identifier: Apache-2.0
// What this computer is; empty or 0 where the system does not say.
#pragma once

#include <string>

namespace tessera {

std::string cpu_model_name();
int cores_online();
double installed_memory_bytes();

}  // namespace tessera
