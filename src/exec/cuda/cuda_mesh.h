// SPDX-License-Identifier: Apache-2.0
// Runs a program on all ranks of its mesh, on one GPU that they share: one thread walks their
// scripts in turns, each rank as far as to a collective that a peer has yet to start. Ranks have
// streams of their own, joined by events; a step becomes one graph. A failure is reported as by
// ranks on the CPU, and where nothing moves until the deadline the process ends.
#pragma once

#include <atomic>

#include "comm/failure/stall_watch.h"
#include "exec/cuda/cuda_executor.h"
#include "exec/cuda/device_hub.h"
#include "exec/local_mesh.h"

namespace tessera {

class CudaMesh : public LocalMesh {
 public:
  // By place along the pipeline; one where there is none.
  CudaMesh(const std::vector<Program>& programs, ExecutorOptions options);

  void replace_programs(std::vector<Program> programs, ProgramChange change) override;
  void write_step(std::string_view name, double value) override;
  void run(std::string_view script) override;
  NonFinite find_non_finite(std::string_view script) override;
  void stop_observing() override;
  // The whole script's time, the same for each rank: their kernels are interleaved.
  std::vector<RankTimes> rank_times() const override;
  CudaExecutor& rank(int rank) const override { return *ranks_[static_cast<size_t>(rank)]; }

 private:
  const DeviceStream& first_stream() const { return ranks_.front()->stream(); }
  void behind_all(const DeviceStream& stream) const;  // of the ranks' streams
  void all_behind(const DeviceStream& stream) const;
  void walk(std::string_view script);
  void run_watched(std::string_view script);

  // Does what may fail or hang, and reports it where it does.
  template <typename Work>
  void watched(const Work& work);
  void report(const std::string& cause);
  int64_t progress() const;         // from any thread
  [[noreturn]] void leave_stuck();  // on the watch's thread

  ExecutorOptions options_;
  DeviceHub hub_;
  std::vector<std::unique_ptr<CudaExecutor>> ranks_;
  DeviceEvent joint_;
  ScriptGraphs graphs_;
  DeviceTimer timer_;               // of the last script
  std::atomic<int64_t> step_ = -1;  // that is done
  std::atomic<int> served_ = -1;    // the rank whose turn it is; -1: none
  bool reported_ = false;
  StallWatch watch_;  // last: it looks at the others
};

}  // namespace tessera
