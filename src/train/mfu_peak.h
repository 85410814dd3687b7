// SPDX-License-Identifier: Apache-2.0
// The flops per second that the MFU and HFU of a run are shares of: run.peak_gflops, or else what a
// large matmul reaches on one device of the run, times its devices.
#pragma once

#include <optional>
#include <string>

#include "comm/communicator.h"
#include "config/config.h"
#include "core/precision.h"
#include "measure/run_peak.h"
#include "record/run_facts.h"

namespace tessera {

class MfuPeak {
 public:
  // `world`: null where this process runs all ranks. `threads`: of this machine.
  MfuPeak(const Config& config, const RunFacts& facts, const RankWorld* world, int threads);

  bool measured() const { return device_.has_value(); }
  const std::string& arithmetic() const { return arithmetic_; }  // of the matmul; empty: given
  // Measured at the first call; a CPU's is kept for all runs.
  double flops_per_second();
  // Where a run was faster: the machine was busy when its peak was measured. What is kept for later
  // runs rises to the value that this returns; 0 where nothing is kept or the peak holds.
  double raise_above(double reached_flops_per_second);

 private:
  double given_;  // 0: none
  std::string arithmetic_;
  std::optional<RunPeak> device_;  // of one device, where the config gives none
  double devices_ = 1;             // machines with cores, or GPUs
};

}  // namespace tessera
