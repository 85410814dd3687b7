// SPDX-License-Identifier: Apache-2.0
// Choices as error messages list them: "1, 2 or 4".
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tessera {

std::string join_choices(std::span<const std::string> choices);
std::string join_choices(std::span<const int64_t> choices);

}  // namespace tessera
