// SPDX-License-Identifier: Apache-2.0
#include "core/narrow_floats.h"

#include <cstring>

namespace tessera {

void widen_halves(std::span<const std::byte> halves, std::span<std::byte> floats) {
  for (size_t i = 0; i < halves.size() / 2; ++i) {
    uint16_t half = 0;
    std::memcpy(&half, halves.data() + 2 * i, sizeof half);
    const float wide = half_to_float(half);
    std::memcpy(floats.data() + 4 * i, &wide, sizeof wide);
  }
}

}  // namespace tessera
