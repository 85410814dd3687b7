// SPDX-License-Identifier: Apache-2.0
// Byte sizes as people write them: 24GB, 512 MB, 1.5gib. Always with a unit: 80 is not 80GB.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

// A UserError at `place` if it is not a byte size.
int64_t parse_byte_size(const std::string& text, const std::string& place);

}  // namespace tessera
