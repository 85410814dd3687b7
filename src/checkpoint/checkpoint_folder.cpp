// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <iterator>

#include "checkpoint/manifest.h"
#include "core/error.h"
#include "files/folder.h"
#include "files/regular_file.h"
#include "files/storage_error.h"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "step-", kPartial = ".tmp";

// Swaps two folders atomically where the file system supports it.
int swap_or_replace(const std::filesystem::path& fresh, const std::filesystem::path& old) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  std::filesystem::path aside = old;
  aside += ".old.tmp";
  if (::rename(old.c_str(), aside.c_str()) != 0) return errno;
  if (::rename(fresh.c_str(), old.c_str()) != 0) return errno;
  return ::rename(aside.c_str(), fresh.c_str()) == 0 ? 0 : errno;
}

int rename_step(const std::filesystem::path& partial, const std::filesystem::path& step) {
  if (std::filesystem::exists(step)) return swap_or_replace(partial, step);
  return ::rename(partial.c_str(), step.c_str()) == 0 ? 0 : errno;
}

}  // namespace

std::filesystem::path checkpoints_of(const std::filesystem::path& out) {
  return out / "checkpoints";
}

std::filesystem::path step_folder(const std::filesystem::path& checkpoints, int64_t step) {
  return checkpoints / fmt::format("{}{:08}", kPrefix, step);
}

std::filesystem::path partial_folder(const std::filesystem::path& checkpoints, int64_t step,
                                     int64_t generation) {
  std::filesystem::path folder = step_folder(checkpoints, step);
  if (generation > 0) folder += fmt::format(".g{}", generation);
  return folder += kPartial;
}

UserError folder_is_gone(const std::filesystem::path& folder) {
  return user_error("{} is no longer the folder that this run began in: it is gone or empty",
                    folder.string())
      .help("was it deleted or moved, or its disk unmounted?");
}

void make_partial_folder(const std::filesystem::path& partial) {
  std::error_code error;
  std::filesystem::create_directory(partial, error);
  if (error == std::errc::no_such_file_or_directory) throw folder_is_gone(partial.parent_path());
  if (error)
    throw user_error("cannot create the folder {}: {}", partial.string(), errno_text(error.value()))
        .help("check that its disk is mounted and has space");
}

std::optional<int64_t> step_of_name(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [read, wrong] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (wrong != std::errc() || read != end || step < 0) return std::nullopt;
  return step;
}

std::vector<StepFolder> step_folders(const std::filesystem::path& checkpoints) {
  std::vector<StepFolder> found;
  for (const std::filesystem::path& entry : list_folder(checkpoints))
    if (const std::optional<int64_t> step = step_of_name(entry)) found.push_back({*step, entry});
  std::sort(found.begin(), found.end(),
            [](const StepFolder& a, const StepFolder& b) { return a.step < b.step; });
  return found;
}

bool commit_step(const std::filesystem::path& checkpoints, int64_t step, const Commit& commit) {
  const auto partial = partial_folder(checkpoints, step, commit.generation);
  const auto whole = step_folder(checkpoints, step);
  const auto ask = [&](FileCall call) { return commit.watch ? commit.watch(call) : 0; };
  int error = ask(FileCall::SyncFolder);
  if (error == 0) error = sync_folder(partial);
  if (error == 0) error = ask(FileCall::Rename);
  // Nothing slow happens while the fence is locked: a process that is stopped there blocks the
  // others.
  const auto rename = [&] { error = rename_step(partial, whole); };
  if (error == 0 && !commit.fence) rename();
  if (error == 0 && commit.fence && !commit.fence->while_newest(rename)) return false;
  if (error == 0) error = ask(FileCall::SyncFolder);
  if (error == 0) error = sync_folder(checkpoints);
  if (error != 0) throw user_error("cannot make {} durable: {}", whole.string(), errno_text(error));
  // Its parent folders may be new, too.
  const std::filesystem::path out = std::filesystem::absolute(checkpoints).parent_path();
  sync_folder(out);
  sync_folder(out.parent_path());
  std::error_code ignored;
  std::filesystem::remove_all(partial, ignored);  // an older folder of that step
  return true;
}

void remove_partials(const std::filesystem::path& checkpoints) {
  std::error_code ignored;
  for (const std::filesystem::path& entry : list_folder(checkpoints)) {
    const std::string name = entry.filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kPartial))
      std::filesystem::remove_all(entry, ignored);
  }
}

Manifest read_manifest(const std::filesystem::path& step) {
  const std::filesystem::path file = step / kManifestName;
  Manifest manifest = parse_manifest(read_whole_file(file), file);
  const std::optional<int64_t> named = step_of_name(step);
  const int64_t is = manifest.facts.position.step;
  if (named && *named != is)
    throw user_error("{} is named as step {}, but its manifest is of step {}", step.string(),
                     *named, is)
        .help(fmt::format("rename it to {}, or give it a name that is not a step's",
                          step_folder("", is).string()));
  return manifest;
}

std::vector<int64_t> steps_of_run(const std::filesystem::path& checkpoints,
                                  const std::string& run) {
  std::vector<int64_t> steps;
  for (const StepFolder& folder : step_folders(checkpoints)) {
    try {
      const Manifest manifest = read_manifest(folder.path);
      if (!run.empty() && manifest.facts.run == run) steps.push_back(folder.step);
    } catch (const UserError&) {
      // Its owner is unknown, so it does not count.
    }
  }
  return steps;
}

std::filesystem::path set_aside(const StepFolder& step) {
  constexpr int kMost = 1000;
  for (int nth = 1; nth <= kMost; ++nth) {
    std::filesystem::path aside = step.path;
    aside += nth == 1 ? ".aside" : fmt::format(".aside-{}", nth);
    if (::rename(step.path.c_str(), aside.c_str()) == 0) return aside;
    if (errno != EEXIST && errno != ENOTEMPTY) break;
  }
  throw user_error("cannot set {} aside: {}", step.path.string(), errno_text(errno));
}

void hide_step(const StepFolder& step) {
  std::filesystem::path partial = step.path;
  partial += kPartial;
  std::error_code error;
  std::filesystem::remove_all(partial, error);
  std::filesystem::rename(step.path, partial, error);
  if (error == std::errc::no_such_file_or_directory) return;  // already removed
  if (error) throw user_error("cannot remove {}: {}", step.path.string(), error.message());
}

void remove_hidden(const StepFolder& step) {
  std::filesystem::path partial = step.path;
  partial += kPartial;
  std::error_code error;
  std::filesystem::remove_all(partial, error);
}

void OwnCheckpoints::continue_from(int64_t step, const std::vector<int64_t>& found) {
  own_.clear();
  for (const int64_t each : found)
    if (each <= step) own_.insert(each);
  good_.erase(good_.upper_bound(step), good_.end());
  good_.insert(step);
}

void OwnCheckpoints::wrote(int64_t step) {
  own_.insert(step);
  good_.insert(step);
}

void OwnCheckpoints::removed(int64_t step) {
  own_.erase(step);
  good_.erase(step);
}

std::vector<int64_t> OwnCheckpoints::prunable(const Retention& retention) const {
  std::vector<int64_t> steps;
  const int64_t keep = std::max<int64_t>(retention.keep, 1);
  if (static_cast<int64_t>(good_.size()) < keep) return steps;
  const int64_t oldest_kept = *std::next(good_.rbegin(), keep - 1);
  for (const int64_t step : own_) {
    const bool stays = retention.keep_every > 0 && step % retention.keep_every == 0;
    if (step < oldest_kept && !stays) steps.push_back(step);
  }
  return steps;
}

}  // namespace tessera
