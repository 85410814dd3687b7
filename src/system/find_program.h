// SPDX-License-Identifier: Apache-2.0
// Finds a program like execvp() does.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

// A name with a slash is a path; others are searched in the folders of PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace tessera
