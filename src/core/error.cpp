// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

namespace tessera {
namespace {

// Shortens a very long value to its beginning and its end.
std::string readable(const std::string& text) {
  constexpr size_t kMost = 2000, kBegin = 1500, kEnd = 300;
  if (text.size() <= kMost) return text;
  return fmt::format("{} ... ({} characters) ... {}", text.substr(0, kBegin),
                     text.size() - kBegin - kEnd, text.substr(text.size() - kEnd));
}

}  // namespace

std::string UserError::report() const {
  std::string text = "error: " + readable(message_) + "\n";
  if (!place_.empty()) text += "   at: " + readable(place_) + "\n";
  if (!advice_.empty()) text += " help: " + readable(advice_) + "\n";
  return text;
}

void check_failed(const char* expression, const char* file, int line, const std::string& detail) {
  throw InternalError(
      fmt::format("{}:{}: check failed: {}{}{}\nthis is a bug in tessera, please report it", file,
                  line, expression, detail.empty() ? "" : ": ", detail));
}

}  // namespace tessera
