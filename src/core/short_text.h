// SPDX-License-Identifier: Apache-2.0
// Durations and sizes as short text.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

std::string short_duration(double seconds);  // "42s", "1m40s", "3h05m"
std::string short_bytes(int64_t bytes);      // "512 B", "1.5 MB", "2.25 GB"

}  // namespace tessera
