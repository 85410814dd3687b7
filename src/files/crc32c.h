// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), as TFRecord files have it; a table, no special instruction.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

uint32_t crc32c(std::string_view bytes);

}  // namespace tessera
