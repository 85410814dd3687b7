// SPDX-License-Identifier: Apache-2.0
#include "record/run_folder.h"

#include <algorithm>
#include <fstream>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/run_identity.h"
#include "core/error.h"
#include "files/json.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

std::vector<StepFolder> checkpoints_in(const std::filesystem::path& out) {
  if (!std::filesystem::is_directory(out)) return {};
  return step_folders(checkpoints_of(out));
}

void refuse(const std::filesystem::path& out) {
  if (begun_in(out))
    throw user_error("{} already holds a run", out.string())
        .help(
            "continue with --resume, choose another folder with --out, or replace it with "
            "--overwrite");
  throw user_error("{} already holds checkpoints, the newest of step {}", out.string(),
                   checkpoints_in(out).back().step)
      .help(
          "continue from them with --resume, take their weights with --init-from and another "
          "--out, "
          "or replace them with --overwrite");
}

// An earlier start of this run may have saved what cannot be seen now.
void require_nothing_saved(const std::filesystem::path& out) {
  const std::optional<int64_t> saved = last_recorded_save(out);
  const std::vector<StepFolder> found = checkpoints_in(out);
  if (!saved && found.empty()) return;
  const int64_t step = std::max(saved.value_or(0), found.empty() ? 0 : found.back().step);
  throw StorageError(fmt::format("this run cannot start from scratch: step {} was saved in {}",
                                 step, checkpoints_of(out).string()),
                     "continue with --resume; if nothing is there, check that its disk is mounted");
}

}  // namespace

bool begun_in(const std::filesystem::path& out) {
  return std::filesystem::exists(out / kRunFileName) ||
         std::filesystem::exists(out / "metrics.jsonl");
}

bool holds_run(const std::filesystem::path& out) {
  return begun_in(out) || !checkpoints_in(out).empty();
}

std::optional<int64_t> last_recorded_save(const std::filesystem::path& out) {
  const std::filesystem::path path = out / "events.jsonl";
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::ifstream events(path);
  std::optional<int64_t> last;
  for (std::string line; std::getline(events, line);) {
    if (line.find("\"saved\"") == std::string::npos) continue;
    const Json json = parse_json(line);
    const Json *event = json.find("event"), *step = json.find("step");
    if (event && *event == "saved" && step && step->integer())
      last = std::max(last.value_or(0), *step->integer());
  }
  if (!events.is_open() || events.bad())
    throw StorageError(fmt::format("cannot read {}", path.string()),
                       "check its permissions, and that its disk is mounted and answers");
  return last;
}

OldRun find_old_run(const NewRun& run) {
  if (!holds_run(run.out)) return OldRun::None;
  const std::optional<RunIdentity> identity = read_run_identity(run.out);
  if (identity && identity->id == run.run_id) {
    require_nothing_saved(run.out);
    return OldRun::FailedStart;
  }
  if (!run.overwrite) refuse(run.out);
  if (run.first_weights.empty()) return OldRun::Replaced;
  const auto inside = std::filesystem::weakly_canonical(run.first_weights)
                          .lexically_relative(std::filesystem::weakly_canonical(run.out));
  if (!inside.empty() && *inside.begin() != "..")
    throw user_error("--overwrite would remove {}, which --init-from reads",
                     run.first_weights.string())
        .help("choose another folder with --out");
  return OldRun::Replaced;
}

void require_checkpoints(const std::filesystem::path& out, const std::string& run_id) {
  if (!checkpoints_in(out).empty()) return;
  const std::string text =
      fmt::format("there is no checkpoint in {}", checkpoints_of(out).string());
  if (run_id.empty())
    throw UserError(text).help("start without --resume, and save with --save-every N");
  throw StorageError(text, "check that its disk is mounted");
}

void clear_run_folder(const std::filesystem::path& out) {
  std::filesystem::remove_all(out / "checkpoints");
  std::filesystem::remove_all(out / kTensorboardFolder);
  for (const char* file :
       {"report.md", "report.html", "report.json", "events.jsonl", "metrics.jsonl", "ranks.jsonl",
        "exchanges.jsonl", "data_files.json", kRunFileName})
    std::filesystem::remove(out / file);
}

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
