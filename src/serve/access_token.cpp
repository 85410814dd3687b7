// SPDX-License-Identifier: Apache-2.0
#include "serve/access_token.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "core/error.h"

namespace tessera {

std::string make_access_token() {
  std::array<unsigned char, 16> bytes{};
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t count = getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    TESSERA_CHECK(count > 0 || errno == EINTR, "the system gives no random bytes");
    if (count > 0) filled += static_cast<size_t>(count);
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

bool equal_secrets(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t at = 0; at < secret.size(); ++at)
    difference |= static_cast<unsigned char>(secret[at]) ^
                  static_cast<unsigned char>(at < given.size() ? given[at] : 0);
  return difference == 0;
}

}  // namespace tessera
