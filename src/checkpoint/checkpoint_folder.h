// SPDX-License-Identifier: Apache-2.0
// The folder of a run's checkpoints: each is `step-00000123` and complete, or does not exist; a
// folder that is being written or removed ends with `.tmp` and is never loaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
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
// The name while it is written; each generation has its own.
std::filesystem::path partial_folder(const std::filesystem::path& checkpoints, int64_t step,
                                     int64_t generation = 0);

// Creates it, but not its parent: if that is gone, so are the run's checkpoints, and its path may
// be an empty mount point.
void make_partial_folder(const std::filesystem::path& partial);
UserError folder_is_gone(const std::filesystem::path& folder);

struct StepFolder {
  int64_t step = 0;
  std::filesystem::path path;
};
// The step of a folder with a step's name.
std::optional<int64_t> step_of_name(const std::filesystem::path& folder);
// Oldest first, without reading their contents. A StorageError if the folder cannot be listed: an
// unreadable folder must not look empty.
std::vector<StepFolder> step_folders(const std::filesystem::path& checkpoints);

struct Commit {
  FileWatch watch = {};
  int64_t generation = 0;
  const Generation* fence = nullptr;  // must still be the newest
};
// Commits a step's partial folder: renames it, in place of an older folder of that step, and makes
// it durable. Returns false and does nothing if the fence is no longer the newest; a UserError if
// it fails.
bool commit_step(const std::filesystem::path& checkpoints, int64_t step, const Commit& commit = {});

// Removes what a crash has left.
void remove_partials(const std::filesystem::path& checkpoints);

// Of a step's folder. A UserError if the manifest is incomplete, or has another step than the
// folder's name: a renamed copy must not pass for a newer checkpoint.
Manifest read_manifest(const std::filesystem::path& step);
// Steps whose manifests have the id of a run; their other files are not read.
std::vector<int64_t> steps_of_run(const std::filesystem::path& checkpoints, const std::string& run);

// Renames a folder to `step-N.aside`, so that it is no longer a checkpoint, without changing its
// files. Returns its new path.
std::filesystem::path set_aside(const StepFolder& step);
// Removes a checkpoint in two steps, so that a crash leaves none with half of its files: first it
// is renamed, then its files are removed.
void hide_step(const StepFolder& step);
void remove_hidden(const StepFolder& step);

// The checkpoints that a run may prune, as its writer knows them. Steps are added by what the run
// did, never by what is in the folder, so pruning reads nothing and cannot mistake another run's
// checkpoint for its own.
struct Retention {
  int64_t keep = 2;        // the newest ones
  int64_t keep_every = 0;  // and those of every N steps; 0: none
};

class OwnCheckpoints {
 public:
  // The run continues from `step`, which it has just verified. Of `found`, the steps with its id on
  // disk, those up to `step` are the run's past; later ones belong to another history.
  void continue_from(int64_t step, const std::vector<int64_t>& found);
  void wrote(int64_t step);
  void does_not_verify(int64_t step) { good_.erase(step); }
  void removed(int64_t step);
  bool has(int64_t step) const { return own_.contains(step); }

  // Oldest first. The newest `keep` stay, counting those that this start has written and the one
  // that it resumed from.
  std::vector<int64_t> prunable(const Retention& retention) const;

 private:
  std::set<int64_t> own_;   // with the run's id: may be removed
  std::set<int64_t> good_;  // count as kept
};

}  // namespace tessera
