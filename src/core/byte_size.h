// SPDX-License-Identifier: Apache-2.0
// Byte sizes as people write them: 24GB, 512MB, 1.5GiB, 4096.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

int64_t parse_byte_size(const std::string& text);

}  // namespace tessera
