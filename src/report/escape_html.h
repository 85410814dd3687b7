// SPDX-License-Identifier: Apache-2.0
// Escapes text for HTML and SVG, in elements and in quoted attributes.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

inline std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  return escaped;
}

}  // namespace tessera
