// SPDX-License-Identifier: Apache-2.0
// What simulate and plan share: the option --cluster and what stands for it, the precision on it,
// warnings about it, and how shares of a peak are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/run_options.h"
#include "sim/cluster.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster);

// The cluster that was named. Where none was: the laptop, for ranks that are at most the cores of
// this machine; more are a UserError that lists the clusters.
Cluster chosen_cluster(const std::string& named, int ranks);

// Where neither a config file nor an option says otherwise: bf16 on clusters of GPUs.
void default_to_precision_of(const Cluster& cluster, RunOptions& run);

// On standard error, so that --json stays one object.
void print_warnings(const std::vector<std::string>& warnings);

// "0.453", and "2.1e-12" where that would be 0.000.
std::string share_text(double share);

}  // namespace tessera
