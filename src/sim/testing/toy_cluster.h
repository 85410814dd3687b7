// SPDX-License-Identifier: Apache-2.0
// Clusters with round figures, so that a test can compute times by hand.
#pragma once

#include "sim/cluster.h"

namespace tessera {

// One level of 16 ranks: 200 bytes per second, 0.5 s of latency. Devices: 1,000 bytes per second of
// memory, enough flops that only bytes matter, full efficiency, free launches.
inline Cluster toy_cluster() {
  Cluster cluster{.name = "toy", .calibrated = false};
  cluster.device = {.name = "toy device",
                    .cores = 0,
                    .peak_flops = {{Arithmetic::Fp32, {1e9, "toy"}}},
                    .memory_bytes = {1e9, "toy"},
                    .memory_bandwidth = {1000, "toy"},
                    .launch_seconds = {0, "toy"},
                    .overlap_slowdown = {0, "toy"}};
  cluster.levels = {
      {.name = "all", .ranks = 16, .bandwidth = {200, "toy"}, .latency_seconds = {0.5, "toy"}}};
  cluster.efficiencies = {{.op = {}, .source = "toy", .points = {{{1, 1, 0}, 1}}}};
  return cluster;
}

// Nodes of four ranks at 100 bytes per second and 1 s; four nodes at 10 bytes per second and 2 s.
inline Cluster toy_nodes() {
  Cluster cluster = toy_cluster();
  cluster.levels = {
      {.name = "node", .ranks = 4, .bandwidth = {100, "toy"}, .latency_seconds = {1, "toy"}},
      {.name = "all", .ranks = 16, .bandwidth = {10, "toy"}, .latency_seconds = {2, "toy"}}};
  return cluster;
}

}  // namespace tessera
