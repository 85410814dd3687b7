// SPDX-License-Identifier: Apache-2.0
// What is visible of a start from outside, in the run's folder and among the processes of this
// machine: whether any rank has started, and whether the run is over though its launcher is not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

class StartSigns {
 public:
  // A launcher is another program, which may start no rank.
  StartSigns(std::filesystem::path run, bool has_launcher)
      : run_(std::move(run)), has_launcher_(has_launcher) {}

  void before_start();
  // Whether a rank ran in the start that ended with this code: a rank has written into the run's
  // folder, or the code must come from a rank. Bad input without such a trace does not count.
  bool began(int code) const;
  // Whether a failure was reported since the start, or the ranks of this machine, which are
  // descendants of that process, existed and are gone.
  bool over(int launcher);
  // When all processes of the start have ended: removes the leftovers of a killed launcher.
  void clean_up() const;

 private:
  struct Traces {
    std::string generation;
    std::optional<std::filesystem::file_time_type> failure;
    bool operator==(const Traces&) const = default;
  };
  Traces traces() const;

  std::filesystem::path run_;
  bool has_launcher_;
  Traces before_;
  bool ranks_were_here_ = false;
  std::optional<uint32_t> open_mpi_job_;
};

}  // namespace tessera
