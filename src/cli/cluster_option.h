// SPDX-License-Identifier: Apache-2.0
// Shared by simulate, plan and clusters: the option --cluster, the default precision, warnings, and
// how shares of a peak are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/run_options.h"
#include "sim/cluster.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster);

// The default, without a config file or an option: bf16 on clusters of GPUs.
void default_to_precision_of(const Cluster& cluster, RunOptions& run);

// What is not known of a cluster that was never calibrated, in a line each; prints nothing where it
// was and nothing else is unknown.
void print_trust(const Cluster& cluster);

// On standard error, so that --json stays one object.
void print_warnings(const std::vector<std::string>& warnings);

// "0.453", or "2.1e-12" if that would be 0.000.
std::string share_text(double share);

}  // namespace tessera
