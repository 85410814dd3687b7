// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/gpu_instruction_times.h"

namespace tessera {
namespace {

// In a graph that is being recorded an event is a mere dependency unless it is said to be more.
void record_time(const DeviceEvent& event, const DeviceStream& stream) {
  cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream.get(), &capturing), "ask whether a graph is recorded");
  const unsigned flags =
      capturing == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault;
  check_cuda(cudaEventRecordWithFlags(event.get(), stream.get(), flags), "record a time");
}

}  // namespace

void GpuInstructionTimes::begin(const DeviceStream& stream, const ScriptCall& call,
                                const ProgramClass& program_class, const Instruction& instruction,
                                const BoundCall& bound) {
  if (events_.size() < 2 * (timed_.size() + 1)) {
    events_.emplace_back(cudaEventDefault);
    events_.emplace_back(cudaEventDefault);
  }
  timed_.push_back({&call,
                    &program_class,
                    &instruction,
                    {bound.operands.begin(), bound.operands.end()},
                    {bound.results.begin(), bound.results.end()}});
  record_time(events_[2 * (timed_.size() - 1)], stream);
}

void GpuInstructionTimes::end(const DeviceStream& stream) {
  record_time(events_[2 * timed_.size() - 1], stream);
}

void GpuInstructionTimes::report(const Program& program, int rank, const RankObserver& observer,
                                 const ZeroTime& zero) {
  for (size_t i = 0; i < timed_.size(); ++i) {
    const Timed& each = timed_[i];
    const BoundCall bound{.operands = each.operands, .results = each.results, .workspace = {}};
    for (const bool finished : {false, true}) {
      const DeviceEvent& event = events_[2 * i + (finished ? 1 : 0)];
      float ms = 0;
      check_cuda(cudaEventElapsedTime(&ms, zero.event.get(), event.get()), "read a time");
      observer(rank, {program, *each.call, *each.program_class, *each.instruction, bound, finished,
                      zero.time + std::chrono::nanoseconds(static_cast<int64_t>(1e6 * ms))});
    }
  }
}

}  // namespace tessera
