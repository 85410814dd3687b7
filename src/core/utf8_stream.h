// SPDX-License-Identifier: Apache-2.0
// Bytes that come in pieces, as UTF-8: a character that is spread over pieces comes whole, with the
// last of them, and what is no character becomes U+FFFD.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

class Utf8Stream {
 public:
  // The text that is known with these bytes.
  std::string add(std::string_view bytes) {
    waiting_ += bytes;
    return take(/*all=*/false);
  }
  // What still waits, after the last piece.
  std::string rest() { return take(/*all=*/true); }

 private:
  std::string take(bool all);

  std::string waiting_;
};

}  // namespace tessera
