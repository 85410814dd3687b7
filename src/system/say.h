// SPDX-License-Identifier: Apache-2.0
// Tells whoever may be listening. A terminal that is gone, or a log on a full disk, ends nothing.
#pragma once

#include <fmt/format.h>

#include <cstdio>

namespace tessera {

template <typename... Args>
void say(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(fmt::format(format, std::forward<Args>(args)...).c_str(), stream);
}

}  // namespace tessera
