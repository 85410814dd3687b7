// SPDX-License-Identifier: Apache-2.0
// When a rank's instructions began and ended, by the GPU's own clock: events on its stream, read
// when the script is done, so that looking changes nothing but the events themselves. They become
// part of a graph that the script is recorded as: its launches are timed as any other.
#pragma once

#include <deque>
#include <vector>

#include "exec/cuda/device_memory.h"
#include "exec/rank_executor.h"

namespace tessera {

// A moment by the clocks of GPU and host. The stream is empty then.
struct ZeroTime {
  explicit ZeroTime(const DeviceStream& stream) {
    stream.wait();
    event.record(stream);
    time = std::chrono::steady_clock::now();
  }
  DeviceEvent event{cudaEventDefault};
  std::chrono::steady_clock::time_point time;
};

class GpuInstructionTimes {
 public:
  void clear() { timed_.clear(); }  // the script is walked again
  void begin(const DeviceStream& stream, const ScriptCall& call, const ProgramClass& program_class,
             const Instruction& instruction, const BoundCall& bound);
  void end(const DeviceStream& stream);

  // Tells the observer of all; the stream must be done.
  void report(const Program& program, int rank, const RankObserver& observer, const ZeroTime& zero);

 private:
  struct Timed {
    const ScriptCall* call;
    const ProgramClass* program_class;
    const Instruction* instruction;
    std::vector<TensorRef> operands, results;
  };
  std::vector<Timed> timed_;
  std::deque<DeviceEvent> events_;  // two for each; kept for the next script
};

}  // namespace tessera
