// SPDX-License-Identifier: Apache-2.0
// Sizes and durations as people write and read them.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// 24GB, 512 MB, 1.5gib: always with a unit, 80 is not 80GB. A UserError at `place` if it is not a
// byte size.
int64_t parse_byte_size(const std::string& text, const std::string& place);

// 90s, 15m, 3h, 2d, 5y: always with a unit. Seconds; a UserError at `place` if it is no duration.
double parse_duration(const std::string& text, const std::string& place);
// 15T, 300B, 2.5M, 1000: a number of tokens or the like. A UserError at `place` if it is no count.
double parse_count(const std::string& text, const std::string& place);

std::string short_duration(double seconds);  // "42s", "1m40s", "3h05m"
std::string short_bytes(int64_t bytes);      // "512 B", "1.5 MB", "2.25 GB"

}  // namespace tessera
