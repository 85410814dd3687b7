// SPDX-License-Identifier: Apache-2.0
// A disk or a network folder did not do what it was asked, and may do it a moment later. Shown like
// any UserError, but it is nobody's mistake: a run that ends with it is worth another start.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "core/error.h"
#include "files/errno_text.h"

namespace tessera {

// An errno that tells of the system's trouble, and not of the path that was given.
inline bool is_outage(int error) {
  constexpr std::array kOutages{EIO, ESTALE, EMFILE, ENFILE, ENOMEM, ETIMEDOUT, ENOTCONN};
  return std::find(kOutages.begin(), kOutages.end(), error) != kOutages.end();
}

class StorageError : public UserError {
 public:
  StorageError(std::string message, std::string advice)
      : UserError(UserError(std::move(message)).help(std::move(advice))) {}
};

// A StorageError where the errno tells of an outage, else a UserError about the path.
[[noreturn]] inline void throw_cannot_open(const std::filesystem::path& path, int error) {
  const std::string message = fmt::format("cannot read {}: {}", path.string(), errno_text(error));
  if (is_outage(error)) throw StorageError(message, "see that its disk is mounted and answers");
  throw UserError(message).help("check the path and its rights");
}

}  // namespace tessera
