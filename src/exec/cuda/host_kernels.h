// SPDX-License-Identifier: Apache-2.0
// Kernels of a step that the host's cores run between those of the GPU, in the stream's order and
// inside captured steps.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/bound_call.h"
#include "exec/cpu/thread_pool.h"
#include "exec/cuda/device_memory.h"
#include "program/program.h"

namespace tessera {

class HostKernels {
 public:
  void enqueue(const ScriptCall& call, const Instruction& instruction, const BoundCall& bound,
               const DeviceStream& stream);
  // Where no captured step may run them any more.
  void forget() { calls_.clear(); }

 private:
  // What the stream hands back when the kernel's turn has come; it outlives a captured step.
  struct Call {
    const KernelInstruction* kernel;
    std::vector<TensorRef> operands, results;
    uint64_t accumulate;
    ThreadPool* threads;
  };
  static void run(void* call);

  std::unique_ptr<ThreadPool> threads_;
  std::map<std::pair<const ScriptCall*, const Instruction*>, Call> calls_;
};

}  // namespace tessera
