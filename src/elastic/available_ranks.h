// SPDX-License-Identifier: Apache-2.0
// How many ranks could run now, and on which hosts: read from a file, from the words of a launcher,
// or from what Slurm says of a job's nodes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct HostRanks {
  std::string name;
  int ranks = 1;
  bool operator==(const HostRanks&) const = default;
};

struct AvailableRanks {
  int ranks = 0;
  std::vector<HostRanks> hosts = {};  // empty: the launcher knows, or it is this machine
  bool operator==(const AvailableRanks&) const = default;
};

AvailableRanks ranks_of(std::vector<HostRanks> hosts);

// A number, or hosts as Open MPI's hostfiles have them: "node7 slots=8", "node7:8", comments after
// #. A UserError, at `place`, where it is neither.
AvailableRanks parse_available(std::string_view text, const std::string& place);

// Slurm's "2,1(x3)" for nodes in their order. Empty where it is something else.
std::vector<int> parse_counts_of_nodes(std::string_view text);

// The nodes of a job that are up, by lines of `sinfo -N -o "%N %T"`: "node7 allocated". A node that
// does not answer ("allocated*"), is drained, or is idle, and so not the job's, is away.
AvailableRanks nodes_that_are_up(std::span<const HostRanks> nodes, std::string_view sinfo);

// The first hosts that together have this number of ranks.
std::vector<HostRanks> hosts_for(const AvailableRanks& available, int ranks);

}  // namespace tessera
