// SPDX-License-Identifier: Apache-2.0
// Where a command that copies or converts a model may write: never among the files of a run, and
// over what exists only where that was asked for.
#pragma once

#include <filesystem>

namespace tessera {

// A single file.
void require_free_file(const std::filesystem::path& file, bool overwrite);
// A folder to be filled with a model or a checkpoint. `overwrite`: checkpoints that lie there may
// be replaced, but not those of a run.
void require_free_folder(const std::filesystem::path& folder, bool overwrite);

}  // namespace tessera
