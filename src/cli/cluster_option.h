// SPDX-License-Identifier: Apache-2.0
// Shared by simulate, plan and clusters: the option --cluster, the default precision, warnings,
// what is not known, and how shares of a peak are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/run_options.h"
#include "sim/cluster.h"
#include "sim/unknowns.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster);

// The default, without a config file or an option: bf16 on clusters of GPUs.
void default_to_precision_of(const Cluster& cluster, RunOptions& run);

// Where the figures of a cluster that was never calibrated come from; nothing where it was.
void print_trust(const Cluster& cluster);

// What the figures above leave out or assume, in a line each.
void print_unknowns(const std::vector<Unknown>& unknowns);

// On standard error, so that --json stays one object.
void print_warnings(const std::vector<std::string>& warnings);

// "0.453", or "2.1e-12" if that would be 0.000.
std::string share_text(double share);

}  // namespace tessera
