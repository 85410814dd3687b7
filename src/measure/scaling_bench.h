// SPDX-License-Identifier: Apache-2.0
// Measures whole training steps of one model and batch on several meshes, in turns within one run,
// beside one rank with all the threads and one rank with as many as a rank of the mesh has. On a
// GPU the ranks share it: each has one thread, and no mesh can be faster than one rank.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace tessera {

struct ScalingBenchOptions {
  int steps = 0;   // per mesh and round; 0: as many as fit about five seconds, from 2 to 30
  int rounds = 2;  // over all meshes
  std::function<void(std::string_view)> progress = {};  // called when something longer begins
};

struct ScalingRow {
  Mesh mesh;
  int threads_per_rank = 0;
  std::vector<double> step_seconds;  // of each round, the median of its steps
  double tokens_per_second = 0;
  double same_threads_ratio = 0;  // speed over that of one rank with all the threads
  double speed_up = 0;            // over one rank with threads_per_rank
  double ideal = 0;               // speed_up when every thread has a core and nothing else costs
  double efficiency = 0;          // speed_up over ideal
  int64_t bytes_per_rank = 0;     // planned
  double loss = 0;                // of the second step: the same on every mesh

  int ranks() const { return mesh.num_ranks(); }
};

struct ScalingResult {
  int threads = 0;     // of the machine, shared by the ranks
  int64_t tokens = 0;  // per step over all ranks; rows for an mlp
  std::vector<ScalingRow> rows;
};

// As many of `threads` as ranks with `threads_per_rank` can use, over what one of them uses.
double ideal_speed_up(int ranks, int threads_per_rank, int threads);

// The meshes of a default run: dp = 2, 4, 8 and so on while there is a thread for each rank (on a
// GPU: up to 8) and the batch divides.
std::vector<std::vector<Axis>> default_scaling_meshes(const Config& config);

// One rank is always measured, whether or not it is among `meshes`. Runs on random tokens.
ScalingResult bench_scaling(const Config& config, const std::vector<std::vector<Axis>>& meshes,
                            const ScalingBenchOptions& options);

}  // namespace tessera
