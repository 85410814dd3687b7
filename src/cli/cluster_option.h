// SPDX-License-Identifier: Apache-2.0
// What simulate and plan share: the option --cluster, warnings about the cluster, and how shares of
// a peak are printed.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"
#include "sim/cluster.h"

namespace tessera {

void add_cluster_option(Command command, std::string& cluster);

// On standard error, so that --json stays one object.
void print_warnings(const std::vector<std::string>& warnings);

// "0.453", and "2.1e-12" where that would be 0.000.
std::string share_text(double share);

}  // namespace tessera
