// SPDX-License-Identifier: Apache-2.0
// Whose a run's folder is: its first start draws an id, keeps it in `run.json`, and writes it into
// every checkpoint. A checkpoint without that id is somebody else's: it is not resumed from, not
// counted and not removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/manifest.h"

namespace tessera {

inline constexpr const char* kRunFileName = "run.json";

struct RunIdentity {
  std::string id;  // 16 hexadecimal digits: a random_name()
  // The run went on from what an import, a conversion or an earlier version had left in the folder,
  // up to this step.
  std::optional<int64_t> adopted_step = {};

  bool may_continue_from(const CheckpointFacts& facts) const;
};

bool is_run_id(std::string_view text);

// Nothing where the folder has none; a StorageError where that cannot be known.
std::optional<RunIdentity> read_run_identity(const std::filesystem::path& out);
void write_run_identity(const std::filesystem::path& out, const RunIdentity& identity);

}  // namespace tessera
