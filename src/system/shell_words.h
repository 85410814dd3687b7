// SPDX-License-Identifier: Apache-2.0
// Splits a command line into words like a shell: blanks between words, 'single' and "double"
// quotes, a backslash before the next character. Nothing is expanded.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// A UserError, at `place`, if a quote is not closed.
std::vector<std::string> shell_words(std::string_view text, const std::string& place);

// Finds a program like execvp() does.
// A name with a slash is a path; others are searched in the folders of PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace tessera
