// SPDX-License-Identifier: Apache-2.0
#include "train/shared_folder.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "comm/texts.h"
#include "core/error.h"
#include "files/atomic_file.h"
#include "files/storage_error.h"
#include "system/random_name.h"
#include "system/seconds_since.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A name that nobody has asked for before, so that no machine remembers that it is not there.
std::string put_token(const fs::path& folder) {
  std::string name = ".seen_by_all_ranks_" + random_name();
  const int file = open_fresh_file(folder / name);
  if (file < 0)
    throw user_error("cannot write to {}: {}", folder.string(), errno_text(errno))
        .help("choose another folder with --out");
  ::close(file);
  return name;
}

bool comes_in_sight(const fs::path& file, double patience_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  std::error_code ignored;
  while (!fs::exists(file, ignored)) {
    if (seconds_since(begin) >= patience_seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// `blind`: by rank, the machine of each that does not see the file, else nothing.
std::string complaint(const fs::path& folder, const std::string& machine,
                      const std::vector<std::string>& blind) {
  std::vector<size_t> ranks;
  std::set<std::string> machines;
  for (size_t rank = 0; rank < blind.size(); ++rank)
    if (!blind[rank].empty()) {
      ranks.push_back(rank);
      machines.insert(blind[rank]);
    }
  if (ranks.empty()) return "";
  return fmt::format(
      "{} is not one folder for all ranks: what rank 0 (on {}) writes there, rank{} {} (on {}) {} "
      "not see",
      folder.string(), machine, ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
      fmt::join(machines, ", "), ranks.size() == 1 ? "does" : "do");
}

}  // namespace

void require_shared_folder(RankWorld& world, const fs::path& folder, double patience_seconds) {
  const auto group = world.everyone("shared folder");
  const bool first = world.rank() == 0;
  const std::string token = broadcast_string(*group, first ? put_token(folder) : "");
  const bool seen = comes_in_sight(folder / token, patience_seconds);
  const std::string machine =
      world.machine().empty() ? "a machine without a name" : world.machine();
  const std::vector<std::string> blind = gather_strings(*group, seen ? "" : machine);
  if (first) ::unlink((folder / token).c_str());
  const std::string error =
      broadcast_string(*group, first ? complaint(folder, machine, blind) : "");
  if (!error.empty())
    throw UserError(error).help(
        "every rank saves its part of a checkpoint there: choose a folder that all machines mount, "
        "with --out");
}

}  // namespace tessera
