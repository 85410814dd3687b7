// SPDX-License-Identifier: Apache-2.0
// Prints a message and ignores errors: a closed terminal, or a log on a full disk, does not end the
// process.
#pragma once

#include <fmt/format.h>

#include <cstdio>

namespace tessera {

template <typename... Args>
void say(std::FILE* stream, fmt::format_string<Args...> format, Args&&... args) {
  std::fputs(fmt::format(format, std::forward<Args>(args)...).c_str(), stream);
}

}  // namespace tessera
