// SPDX-License-Identifier: Apache-2.0
// A cluster as JSON: its figures, each with its source, and how many were measured, published or
// assumed.
#pragma once

#include <string>

#include "files/json.h"
#include "sim/cluster.h"

namespace tessera {

Json to_json(const Cluster& cluster);

// How the units of a level are joined: "32 x node on a switch", "16 x rank on a torus of 4 x 4",
// "8 x rank, each with a link to each".
std::string wiring_text(const Cluster& cluster, size_t level);
// "450 GB/s per rank, 3 us"
std::string rate_text(const Level& level);

// Figures by where they come from; those that mean nothing are left out.
struct SourceCounts {
  int measured = 0, published = 0, assumed = 0;
};
SourceCounts count_sources(const Cluster& cluster);
Json to_json(const SourceCounts& counts);

}  // namespace tessera
