// SPDX-License-Identifier: Apache-2.0
// Finds the known name nearest to a mistyped one, for "did you mean ...?".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Empty when no known name is near. The distance counts letters added, dropped or changed, and
// adjacent letters swapped.
std::string nearest_name(std::string_view text, std::span<const std::string> known);

}  // namespace tessera
