// SPDX-License-Identifier: Apache-2.0
// Splits a command line into words like a shell: blanks between words, 'single' and "double"
// quotes, a backslash before the next character. Nothing is expanded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A UserError, at `place`, if a quote is not closed.
std::vector<std::string> shell_words(std::string_view text, const std::string& place);

}  // namespace tessera
