// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "checkpoint/manifest.h"
#include "core/error.h"
#include "files/errno_text.h"
#include "files/mapped_file.h"

namespace tessera {
namespace {

constexpr std::string_view kPrefix = "step-", kPartial = ".tmp";

// Swaps two folders in one go where the file system can.
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

// A manifest, and every file of its size: enough to count, not to trust.
bool looks_whole(const std::filesystem::path& step) {
  try {
    const MappedFile file(step / kManifestName);
    const Manifest manifest = parse_manifest(
        {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, file.path());
    for (const StoredFile& shard : manifest.files) {
      std::error_code error;
      const auto bytes = std::filesystem::file_size(step / shard.name, error);
      if (error || static_cast<int64_t>(bytes) != shard.bytes) return false;
    }
    return true;
  } catch (const UserError&) {
    return false;
  }
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

std::vector<StepFolder> step_folders(const std::filesystem::path& checkpoints) {
  std::vector<StepFolder> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int64_t step = 0;
    const char* end = name.data() + name.size();
    const auto [read, wrong] = std::from_chars(name.data() + kPrefix.size(), end, step);
    if (wrong == std::errc() && read == end) found.push_back({step, entry.path()});
  }
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
  // Nothing slow happens behind the fence: whoever is stopped there keeps others out.
  const auto rename = [&] { error = rename_step(partial, whole); };
  if (error == 0 && !commit.fence) rename();
  if (error == 0 && commit.fence && !commit.fence->while_newest(rename)) return false;
  if (error == 0) error = ask(FileCall::SyncFolder);
  if (error == 0) error = sync_folder(checkpoints);
  if (error != 0) throw user_error("cannot make {} last: {}", whole.string(), errno_text(error));
  // The folders around it may be as new as it is.
  const std::filesystem::path out = std::filesystem::absolute(checkpoints).parent_path();
  sync_folder(out);
  sync_folder(out.parent_path());
  std::error_code ignored;
  std::filesystem::remove_all(partial, ignored);  // an older folder of that step
  return true;
}

void remove_partials(const std::filesystem::path& checkpoints) {
  std::error_code error;
  std::vector<std::filesystem::path> partials;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kPartial)) partials.push_back(entry.path());
  }
  for (const auto& partial : partials) std::filesystem::remove_all(partial, error);
}

std::vector<StepFolder> prunable(const std::filesystem::path& checkpoints,
                                 const Retention& retention) {
  std::vector<StepFolder> all = step_folders(checkpoints), gone;
  int64_t kept = 0;
  for (size_t i = all.size(); i-- > 0;) {
    if (kept >= retention.keep) {
      const bool stays = retention.keep_every > 0 && all[i].step % retention.keep_every == 0;
      if (!stays) gone.push_back(all[i]);
    } else if (looks_whole(all[i].path)) {
      ++kept;
    }
  }
  return gone;
}

void hide_step(const StepFolder& step) {
  std::filesystem::path partial = step.path;
  partial += kPartial;
  std::error_code error;
  std::filesystem::remove_all(partial, error);
  std::filesystem::rename(step.path, partial, error);
  if (error) throw user_error("cannot remove {}: {}", step.path.string(), error.message());
}

void remove_hidden(const StepFolder& step) {
  std::filesystem::path partial = step.path;
  partial += kPartial;
  std::error_code error;
  std::filesystem::remove_all(partial, error);
}

}  // namespace tessera
