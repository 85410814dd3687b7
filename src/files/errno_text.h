// SPDX-License-Identifier: Apache-2.0
// The system's words for an errno, in lower case, as they stand within our messages: "no space left
// on device".
#pragma once

#include <cctype>
#include <string>
#include <system_error>

namespace tessera {

inline std::string errno_text(int error) {
  std::string text = std::generic_category().message(error);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace tessera
