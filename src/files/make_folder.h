// SPDX-License-Identifier: Apache-2.0
// A folder and those above it, where they are not there yet.
#pragma once

#include <filesystem>
#include <string>

namespace tessera {

// A UserError with `advice` where the system refuses.
void make_folder(const std::filesystem::path& folder,
                 const std::string& advice = "choose another with --out");

}  // namespace tessera
