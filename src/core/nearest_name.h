// SPDX-License-Identifier: Apache-2.0
// The known name that a mistyped one was probably meant to be, for "did you mean ...?".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Empty when no known name is near. The distance counts letters added, dropped, changed, and
// neighbours swapped.
std::string nearest_name(std::string_view text, std::span<const std::string> known);

}  // namespace tessera
