// SPDX-License-Identifier: Apache-2.0
// The axes that a mesh may have, as a user names them.
#pragma once

#include <span>
#include <string_view>

namespace tessera {

std::span<const std::string_view> known_axes();

}  // namespace tessera
