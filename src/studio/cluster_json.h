// SPDX-License-Identifier: Apache-2.0
// A cluster as JSON: its figures, each with its source, and how many were measured, published or
// assumed.
#pragma once

#include "files/json.h"
#include "sim/cluster.h"

namespace tessera {

Json to_json(const Cluster& cluster);

// Figures by where they come from; those that mean nothing are left out.
struct SourceCounts {
  int measured = 0, published = 0, assumed = 0;
};
SourceCounts count_sources(const Cluster& cluster);
Json to_json(const SourceCounts& counts);

}  // namespace tessera
