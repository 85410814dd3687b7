// SPDX-License-Identifier: Apache-2.0
// Where each microbatch in flight has its bytes: what its segments keep from forward to backward,
// and what its stages take from and give to those beside them. Two that are alive together never
// overlap.
#pragma once

#include <map>

#include "program/program.h"

namespace tessera {

// Of one microbatch.
struct StageBytes {
  int64_t stream_in = 0, stream_out = 0, gradient_in = 0, gradient_out = 0, inner_gradients = 0,
          checkpoints = 0;
};

struct LayoutRequest {
  std::map<int, StageBytes> stages;
  bool recomputes = false;   // what segments keep is rebuilt for the backward, elsewhere
  int64_t window_begin = 0;  // of what lies in the window arena
};

struct MicrobatchBytes {
  int64_t slot = 0, window = 0, host_slot = 0;
};

// Fills the bases of every call of every script.
MicrobatchBytes lay_out_microbatches(const LayoutRequest& request, Program& program);

}  // namespace tessera
