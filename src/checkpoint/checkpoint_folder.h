// SPDX-License-Identifier: Apache-2.0
// The folder of a run's checkpoints: `step-00000123` each, whole or not there at all; what is being
// written or removed ends with `.tmp` and is nobody's checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "checkpoint/generation.h"
#include "files/atomic_file.h"

namespace tessera {

inline constexpr const char* kManifestName = "manifest.json";

// Of a run's output folder.
std::filesystem::path checkpoints_of(const std::filesystem::path& out);
std::filesystem::path step_folder(const std::filesystem::path& checkpoints, int64_t step);
// While it is written; each generation has its own.
std::filesystem::path partial_folder(const std::filesystem::path& checkpoints, int64_t step,
                                     int64_t generation = 0);

struct StepFolder {
  int64_t step = 0;
  std::filesystem::path path;
};
// Oldest first; their contents are not looked at.
std::vector<StepFolder> step_folders(const std::filesystem::path& checkpoints);

struct Commit {
  FileWatch watch = {};
  int64_t generation = 0;
  const Generation* fence = nullptr;  // that must still be the newest
};
// Gives a step's partial folder its name, in place of an older folder of that step, and makes it
// last. False, and nothing done, where the fence is no longer the newest; a UserError when it
// cannot be.
bool commit_step(const std::filesystem::path& checkpoints, int64_t step, const Commit& commit = {});

// What a crash has left.
void remove_partials(const std::filesystem::path& checkpoints);

struct Retention {
  int64_t keep = 2;        // the newest ones
  int64_t keep_every = 0;  // and those of every so many steps; 0: none
};
// Steps that may go once the newest one is known to be good. Folders that are no whole checkpoints
// do not count as kept.
std::vector<StepFolder> prunable(const std::filesystem::path& checkpoints,
                                 const Retention& retention);
// Removed in two steps, so that a crash leaves no checkpoint with half of its files: first it loses
// its name, then its files.
void hide_step(const StepFolder& step);
void remove_hidden(const StepFolder& step);

}  // namespace tessera
