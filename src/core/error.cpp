// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

namespace tessera {

std::string UserError::report() const {
  std::string text = "error: " + message_ + "\n";
  if (!place_.empty()) text += "   at: " + place_ + "\n";
  if (!advice_.empty()) text += " help: " + advice_ + "\n";
  return text;
}

void check_failed(const char* expression, const char* file, int line, const std::string& detail) {
  throw InternalError(
      fmt::format("{}:{}: check failed: {}{}{}\nthis is a bug in tessera, please report it", file,
                  line, expression, detail.empty() ? "" : ": ", detail));
}

}  // namespace tessera
