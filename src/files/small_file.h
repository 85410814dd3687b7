// SPDX-License-Identifier: Apache-2.0
// The bytes of a small file at once: a cluster, a schedule. Pipes are read to their end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

// Nothing where there is no such file, or it is a folder, or cannot be read.
std::optional<std::string> find_small_file(const std::filesystem::path& path);

}  // namespace tessera
