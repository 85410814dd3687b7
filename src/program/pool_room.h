// SPDX-License-Identifier: Apache-2.0
// The room of the pools of experts in a program: what plan.expert_room comes to.
#pragma once

#include <span>
#include <string>

#include "files/json.h"
#include "program/program.h"

namespace tessera {

// Of the layer with the largest pool; 0 rows: there is none.
struct PoolRoom {
  int64_t rows = 0, mean_rows = 0;  // of a rank: what there is room for, and what comes on average
  int64_t kept_bytes = 0;           // in pools, from the forward of a microbatch to its backward
  double factor() const { return static_cast<double>(rows) / static_cast<double>(mean_rows); }
};

// Of the program whose pools keep the most.
PoolRoom pool_room_of(std::span<const Program> programs);
// "pools of experts keep 3.15 MB of each microbatch in flight, in 512 rows of a layer: 2 times ..."
std::string to_string(const PoolRoom& room);
Json to_json(const PoolRoom& room);

}  // namespace tessera
