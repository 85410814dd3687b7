// SPDX-License-Identifier: Apache-2.0
// How programs are run, on any device.
#pragma once

#include <functional>

#include "exec/rank_executor.h"

namespace tessera {

class LocalHub;

struct ExecutorOptions {
  int threads = 1;      // of each rank; a GPU's enqueues with one
  bool poison = false;  // fill arenas with NaNs first, and buffers again when they die
  // Waits after every instruction, so that an error names the one that made it; slow. A CPU always
  // does, and CUDA_LAUNCH_BLOCKING asks for it, too.
  bool wait_for_each = false;
  // Of every wait for another rank. A thread that hangs cannot be ended: it is named, and the
  // process ends with kPeerExitStatus.
  double deadline_seconds = 120;
  // Called once, when one of the ranks that are threads has failed.
  std::function<void(const LocalHub&)> on_failure = {};
  // Called on the rank's own thread; on a GPU when the script is done, with the GPU's times. Steps
  // are no graphs there while there is one.
  RankObserver observer = {};
  // Gives a rank on the CPU a program of its own; the ranks' collectives are then checked against
  // each other.
  std::function<void(int rank, Program&)> change_program = {};
};

}  // namespace tessera
