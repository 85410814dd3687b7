// SPDX-License-Identifier: Apache-2.0
// For tests: text of code, prose, many scripts, emoji, odd spaces and any character at all; with or
// without bytes that are not UTF-8. The same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera {

std::string mixed_text(size_t bytes, uint64_t seed, bool with_invalid);

}  // namespace tessera
