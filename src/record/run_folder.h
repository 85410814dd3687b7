// SPDX-License-Identifier: Apache-2.0
// The output folder of a run before its first step: refused where it holds another run, emptied
// where that one is to be replaced. Nothing is removed before all else that can be refused has
// been.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tessera {

// Whether a run has begun there: it has a record or an id.
bool begun_in(const std::filesystem::path& out);
// The same, or checkpoints lie there: a run's own or what was imported.
bool holds_run(const std::filesystem::path& out);

// The last step that the run's record says was saved; nothing: none.
std::optional<int64_t> last_recorded_save(const std::filesystem::path& out);

struct NewRun {
  std::filesystem::path out;
  std::string run_id = {};  // that it has by its supervisor's word; empty: it has none yet
  bool overwrite = false;   // an old run may be replaced
  std::filesystem::path first_weights = {};  // what it begins with; empty: nothing
};
// FailedStart: an earlier start of this same run, which has saved nothing. Its record goes on, and
// nothing is removed.
enum class OldRun : uint8_t { None, FailedStart, Replaced };
// What a run that does not resume finds in its folder. Refuses a run that it may not replace.
OldRun find_old_run(const NewRun& run);

// Refuses a folder without a checkpoint to resume from; for the supervisor's restart of a run
// that is a StorageError, because there was one a moment ago.
void require_checkpoints(const std::filesystem::path& out, const std::string& run_id);

// Checkpoints, records, reports and plots of the run that is replaced.
void clear_run_folder(const std::filesystem::path& out);

inline constexpr const char* kTensorboardFolder = "tensorboard";

// Where a command that copies or converts a model may write: never among the files of a run, and
// over what exists only where that was asked for.
// A single file.
void require_free_file(const std::filesystem::path& file, bool overwrite);
// A folder to be filled with a model or a checkpoint. `overwrite`: checkpoints that lie there may
// be replaced, but not those of a run.
void require_free_folder(const std::filesystem::path& folder, bool overwrite);

}  // namespace tessera
