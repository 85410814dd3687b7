// SPDX-License-Identifier: Apache-2.0
// Where the supervisor learns which ranks are there: a file that an operator or a script writes,
// the hosts that mpirun was given, the nodes of the Slurm job; and the launcher's words for those
// that it then uses. An answer that cannot be had leaves the one before it valid.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "elastic/available_ranks.h"

namespace tessera {

class RankSource {
 public:
  // `launcher`: the words of mpirun or srun; empty: ranks are processes of this machine. A
  // UserError where a file that it reads cannot be read now.
  RankSource(const ElasticConfig& policy, std::vector<std::string> launcher);

  // Nothing where nobody says so.
  std::optional<AvailableRanks> look();
  // Seconds to leave between two looks: commands cost more than a file.
  double pause_seconds() const { return asks_commands_ ? 5 : 0.5; }
  // The launcher's words for N ranks on these hosts, which are written to a file in `folder`.
  std::vector<std::string> launcher(const AvailableRanks& available, int ranks,
                                    const std::filesystem::path& folder) const;

 private:
  std::optional<AvailableRanks> listed() const;
  AvailableRanks that_answer(const AvailableRanks& listed) const;
  AvailableRanks read_file() const;

  std::vector<std::string> launcher_;
  std::string file_, probe_;
  std::vector<HostRanks> hosts_;  // of --host, or the nodes of the job
  bool is_slurm_ = false, asks_commands_ = false;
  std::optional<AvailableRanks> last_;
};

}  // namespace tessera
