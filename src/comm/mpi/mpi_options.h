// SPDX-License-Identifier: Apache-2.0
// How a process takes part in an MPI job.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace tessera {

struct MpiOptions {
  double deadline_seconds = 120;  // of every wait
  // How long the other ranks may take to end after the first failure.
  double grace_seconds = 3;
  // Of the run, shared by all ranks: where the failure report is written; empty: nowhere.
  std::filesystem::path run_folder = {};
  // Whether somebody outside has told this process to end, so that it may be killed soon.
  std::function<bool()> told_to_end = {};
  // Longer messages are cut: MPI counts in int. At least that of a first message, which is whole.
  int64_t largest_message_bytes = int64_t{1} << 30;
};

}  // namespace tessera
