// SPDX-License-Identifier: Apache-2.0
// For tests: the message of the UserError that a call throws, or a text that equals no message.
#pragma once

#include <string>

#include "core/error.h"

namespace tessera {

template <typename F>
std::string user_error_of(F&& call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.message();
  }
  return "(no UserError was thrown)";
}

}  // namespace tessera
