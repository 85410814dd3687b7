// SPDX-License-Identifier: Apache-2.0
// A name that nobody has used before: 64 bits from the system, as 16 hexadecimal digits.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>

namespace tessera {

inline std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace tessera
