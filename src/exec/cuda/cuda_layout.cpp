// SPDX-License-Identifier: Apache-2.0
// Where a rank's arenas lie in a GPU's memory, and what kernels need beside.
#include <algorithm>
#include <utility>

#include "exec/cuda/cuda_executor.h"
#include "ir/op_list.h"
#include "program/buffer_types.h"

namespace tessera {
namespace {

int64_t workspace_beyond_plan(const Program& program, CausalAttention& attention) {
  int64_t most = 0;
  for (const ProgramClass& each : program.classes)
    for (const auto& routine : each.routines)
      for (const Instruction& instruction : routine) {
        const auto* kernel = instruction.as<KernelInstruction>();
        if (!kernel) continue;
        const auto operands = types_of(each, kernel->operands);
        const auto results = types_of(each, kernel->results);
        cuda_kernel(kernel->op);  // or says that there is none, before anything runs
        const OpCall call{kernel->op, kernel->attributes, operands, results};
        const int64_t needed = cuda_workspace_bytes(call, attention);
        if (needed > instruction.workspace_bytes) most = std::max(most, needed);
      }
  return most;
}

}  // namespace

CudaExecutor::Layout::Layout(const Program& program, CausalAttention& attention) {
  int64_t next = 0;
  const auto take = [&](int64_t size) { return std::exchange(next, next + align_for_gpu(size)); };
  state_bytes = align_for_gpu(program.persistent_bytes);
  sizes = {program.window_bytes, program.slot_bytes, program.scratch_bytes};
  std::transform(sizes.begin(), sizes.end(), arenas.begin(), take);
  workspace_bytes = workspace_beyond_plan(program, attention);
  workspace = take(workspace_bytes);
  bytes = next;
}

int64_t CudaExecutor::device_bytes(const Program& program, CausalAttention& attention) {
  return Layout(program, attention).all_bytes() + MatrixProducts::kWorkspaceBytes;
}

}  // namespace tessera
