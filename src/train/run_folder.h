// SPDX-License-Identifier: Apache-2.0
// The output folder of a run before its first step: refused where it holds another run, emptied
// where that one is to be replaced. Nothing is removed before all else that can be refused has
// been.
#pragma once

#include <filesystem>

namespace tessera {

// Whether a run has left its metrics there.
bool holds_run(const std::filesystem::path& out);

// `first_weights` is what the new run begins with; empty: nothing. It must outlive the old run.
void refuse_old_run(const std::filesystem::path& out, bool overwrite,
                    const std::filesystem::path& first_weights);

// Checkpoints, reports and plots of the run that is replaced.
void clear_run_folder(const std::filesystem::path& out);

inline constexpr const char* kTensorboardFolder = "tensorboard";

}  // namespace tessera
