// SPDX-License-Identifier: Apache-2.0
// The keys of [elastic].
#include "config/config_fields.h"

namespace tessera {
namespace {

constexpr Bounds kAtLeastZero{0, 1e18};

}  // namespace

std::vector<ConfigField> elastic_fields(ElasticConfig& e) {
  return {
      {"elastic.least_ranks", &e.least_ranks, kAtLeastZero,
       "a supervised run that loses ranks continues with fewer, at least with this number; 0: it "
       "always has those of the mesh"},
      {"elastic.most_ranks", &e.most_ranks, kAtLeastZero,
       "ranks that it uses at most, others are spares; 0: those of the mesh"},
      {"elastic.ranks_from",
       &e.ranks_from,
       {},
       "file with the number of ranks that are there, or with hosts as lines \"node7 slots=8\"; "
       "empty: the hosts of mpirun's --hostfile or --host, the nodes of the Slurm job"},
      {"elastic.probe",
       &e.probe,
       {},
       "command that ends with exit code 0 if a host is there, such as \"ssh {host} true\"; "
       "empty: all that are listed are there"},
      {"elastic.shrink_after_seconds", &e.shrink_after_seconds, kAtLeastZero,
       "how long ranks must be away before the run continues without them"},
      {"elastic.grow_after_seconds", &e.grow_after_seconds, kAtLeastZero,
       "how long ranks must be back before the run saves and continues with them"},
      {"elastic.cluster",
       &e.cluster,
       {},
       "name or file of the cluster to plan with; empty: this machine's cores"},
  };
}

}  // namespace tessera
