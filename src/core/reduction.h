// SPDX-License-Identifier: Apache-2.0
// How the elements of several ranks become one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera {

enum class Reduction : uint8_t { Sum, Mean, Min, Max };
inline constexpr int kNumReductions = 4;
inline constexpr std::array<std::string_view, kNumReductions> kReductionNames{"sum", "mean", "min",
                                                                              "max"};

inline std::string_view name(Reduction reduction) {
  return kReductionNames.at(static_cast<size_t>(reduction));
}

inline std::optional<Reduction> reduction_from_name(std::string_view text) {
  const auto found = std::ranges::find(kReductionNames, text);
  if (found == kReductionNames.end()) return std::nullopt;
  return static_cast<Reduction>(found - kReductionNames.begin());
}

}  // namespace tessera
