// SPDX-License-Identifier: Apache-2.0
// A disk or a network folder did not do what it was asked, and may do it a moment later. Shown like
// any UserError, but it is nobody's mistake: a run that ends with it is worth another start.
#pragma once

#include "core/error.h"

namespace tessera {

class StorageError : public UserError {
 public:
  StorageError(std::string message, std::string advice)
      : UserError(UserError(std::move(message)).help(std::move(advice))) {}
};

}  // namespace tessera
