// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/host_kernels.h"

#include "core/error.h"
#include "exec/cpu/cpu_call.h"
#include "system/this_machine.h"

namespace tessera {

void HostKernels::run(void* call) {
  const Call& own = *static_cast<const Call*>(call);
  const BoundCall bound{.operands = own.operands,
                        .results = own.results,
                        .accumulate = own.accumulate,
                        .workspace = {}};
  cpu_kernel(own.kernel->op)({bound, own.kernel->op, own.kernel->attributes, *own.threads});
}

void HostKernels::enqueue(const ScriptCall& call, const Instruction& instruction,
                          const BoundCall& bound, const DeviceStream& stream) {
  TESSERA_CHECK(instruction.workspace_bytes == 0, "{} needs a workspace on the host",
                name(instruction));
  if (!threads_) threads_ = std::make_unique<ThreadPool>(cores_online());
  Call& own = calls_[{&call, &instruction}];
  own = {.kernel = instruction.as<KernelInstruction>(),
         .operands = {bound.operands.begin(), bound.operands.end()},
         .results = {bound.results.begin(), bound.results.end()},
         .accumulate = bound.accumulate,
         .threads = threads_.get()};
  check_cuda(cudaLaunchHostFunc(stream.get(), run, &own), "run a kernel on the host");
}

}  // namespace tessera
