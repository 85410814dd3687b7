// SPDX-License-Identifier: Apache-2.0
// What islands agree on before they exchange anything: the outer optimizer, and how changes travel.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

enum class OuterOptimizer : uint8_t { Nesterov, Average };
inline constexpr std::array<std::string_view, 2> kOuterOptimizers{"nesterov", "average"};

enum class IslandWire : uint8_t { Exact, Int8, Int4 };
inline constexpr std::array<std::string_view, 3> kIslandWires{"exact", "int8", "int4"};

constexpr std::string_view name(OuterOptimizer optimizer) {
  return kOuterOptimizers[static_cast<size_t>(optimizer)];
}
constexpr std::string_view name(IslandWire wire) { return kIslandWires[static_cast<size_t>(wire)]; }

struct OuterOptions {
  OuterOptimizer optimizer = OuterOptimizer::Nesterov;
  double learning_rate = 0.7, momentum = 0.9;  // of nesterov
};

}  // namespace tessera
