// SPDX-License-Identifier: Apache-2.0
// Shared by simulate and plan: the option --cluster and its default, the precision, warnings, and
// how shares of a peak are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "sim/cluster.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster);

// The named cluster. Without a name: laptop, for up to as many ranks as this machine has cores;
// more ranks are a UserError that lists the clusters.
Cluster chosen_cluster(const std::string& named, int ranks);

// The default, without a config file or an option: bf16 on clusters of GPUs.
void default_to_precision_of(const Cluster& cluster, RunOptions& run);

// The step of a config on a cluster, which decides the device, and the threads where the config
// does not.
RunSpec resolve_on(const Cluster& cluster, const Config& config);

// On standard error, so that --json stays one object.
void print_warnings(const std::vector<std::string>& warnings);

// "0.453", or "2.1e-12" if that would be 0.000.
std::string share_text(double share);

}  // namespace tessera
