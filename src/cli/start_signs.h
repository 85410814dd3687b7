// SPDX-License-Identifier: Apache-2.0
// What can be seen of a start of a run from outside, in the run's folder and among the processes of
// this machine: whether any rank has begun, and whether it is over though its launcher is not.
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
  // Whether the start that ended with this code got as far as to run: a rank did something in the
  // run's folder, or is where the code must come from. Bad input without a trace did not.
  bool began(int code) const;
  // Whether a failure has been told of since the start, or the ranks of this machine, which are
  // descendants of that process, were there and are gone.
  bool over(int launcher);
  // When all processes of the start have ended: removes what a launcher that was killed has left.
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
