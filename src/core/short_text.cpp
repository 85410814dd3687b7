// SPDX-License-Identifier: Apache-2.0
#include "core/short_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {

std::string short_duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::max(0.0, std::ceil(seconds)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
}

std::string short_bytes(int64_t bytes) {
  constexpr std::array<const char*, 4> kUnits{"kB", "MB", "GB", "TB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < kUnits.size(); ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, kUnits[unit]);
}

}  // namespace tessera
