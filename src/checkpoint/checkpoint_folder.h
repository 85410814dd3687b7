// SPDX-License-Identifier: Apache-2.0
// The folder of a run's checkpoints: `step-00000123` each, whole or not there at all; what is being
// written or removed ends with `.tmp` and is nobody's checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "checkpoint/generation.h"
#include "checkpoint/manifest.h"
#include "core/error.h"
#include "files/atomic_file.h"

namespace tessera {

inline constexpr const char* kManifestName = "manifest.json";

// Of a run's output folder.
std::filesystem::path checkpoints_of(const std::filesystem::path& out);
std::filesystem::path step_folder(const std::filesystem::path& checkpoints, int64_t step);
// While it is written; each generation has its own.
std::filesystem::path partial_folder(const std::filesystem::path& checkpoints, int64_t step,
                                     int64_t generation = 0);

// Makes it, but no folder around it: where that one is gone, so are the run's checkpoints, and what
// stands in its place may be a bare mount point.
void make_partial_folder(const std::filesystem::path& partial);
UserError folder_is_gone(const std::filesystem::path& folder);

struct StepFolder {
  int64_t step = 0;
  std::filesystem::path path;
};
// Of a folder that is named as a step's is.
std::optional<int64_t> step_of_name(const std::filesystem::path& folder);
// Oldest first; their contents are not looked at. A StorageError where the folder cannot be listed:
// none is only what is not there.
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

// Of a step's folder. A UserError where it is no whole manifest, or is of another step than the
// folder's name says: a copy must not pass for newer than it is.
Manifest read_manifest(const std::filesystem::path& step);
// Steps whose manifests carry the id of a run; their other files are not looked at.
std::vector<int64_t> steps_of_run(const std::filesystem::path& checkpoints, const std::string& run);

// Takes a folder its name, so that it is nobody's checkpoint, and no byte of it: `step-N.aside`.
// Returns what it is named now.
std::filesystem::path set_aside(const StepFolder& step);
// Removed in two steps, so that a crash leaves no checkpoint with half of its files: first it loses
// its name, then its files.
void hide_step(const StepFolder& step);
void remove_hidden(const StepFolder& step);

}  // namespace tessera
