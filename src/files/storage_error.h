// SPDX-License-Identifier: Apache-2.0
// A disk or a network folder failed, perhaps only for a moment. Shown like any UserError, but the
// user made no mistake: a run that ends with it is worth a restart.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/error.h"

namespace tessera {

// The system's words for an errno, in lower case, as they stand within our messages: "no space left
// on device".
inline std::string errno_text(int error) {
  std::string text = std::generic_category().message(error);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// Whether an errno means a problem of the system, not of the path that was given.
inline bool is_outage(int error) {
  constexpr std::array kOutages{EIO, ESTALE, EMFILE, ENFILE, ENOMEM, ETIMEDOUT, ENOTCONN};
  return std::find(kOutages.begin(), kOutages.end(), error) != kOutages.end();
}

class StorageError : public UserError {
 public:
  StorageError(std::string message, std::string advice)
      : UserError(UserError(std::move(message)).help(std::move(advice))) {}
};

// A StorageError where the errno means an outage, else a UserError about the path.
[[noreturn]] inline void throw_cannot_open(const std::filesystem::path& path, int error) {
  const std::string message = fmt::format("cannot read {}: {}", path.string(), errno_text(error));
  if (is_outage(error)) throw StorageError(message, "see that its disk is mounted and answers");
  throw UserError(message).help("check the path and its permissions");
}

}  // namespace tessera
