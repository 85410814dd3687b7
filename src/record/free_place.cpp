// SPDX-License-Identifier: Apache-2.0
#include "record/free_place.h"

#include "checkpoint/checkpoint_folder.h"
#include "core/error.h"
#include "record/run_folder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool lies_among_checkpoints(const fs::path& place) {
  for (fs::path at = place; at != at.root_path() && !at.empty(); at = at.parent_path())
    if (fs::exists(at / kManifestName) ||
        (at.filename() == "checkpoints" && !step_folders(at).empty()))
      return true;
  return false;
}

void refuse_among_checkpoints(const fs::path& place) {
  if (lies_among_checkpoints(fs::weakly_canonical(place)))
    throw user_error("{} is inside a checkpoint", place.string())
        .help("choose a place outside of it");
}

}  // namespace

void require_free_file(const fs::path& file, bool overwrite) {
  refuse_among_checkpoints(file);
  const fs::path folder = fs::weakly_canonical(file).parent_path();
  if (begun_in(folder))
    throw user_error("{} is inside the folder of a run", file.string())
        .help("choose a place outside of it");
  if (!overwrite && fs::exists(file))
    throw user_error("{} already exists", file.string())
        .help("choose another name, or replace it with --overwrite");
}

void require_free_folder(const fs::path& folder, bool overwrite) {
  refuse_among_checkpoints(folder);
  if (begun_in(folder) || (!overwrite && holds_run(folder)))
    throw user_error("{} already holds {}", folder.string(),
                     begun_in(folder) ? "a run" : "checkpoints")
        .help("choose another folder");
}

}  // namespace tessera
