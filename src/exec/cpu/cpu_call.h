// SPDX-License-Identifier: Apache-2.0
// What a CPU kernel gets. Buffers are contiguous in the order of their dims and 64-byte aligned;
// results never overlap operands except where the op's in_place allows it. Kernels allocate nothing
// and give the same bits for any number of threads.
#pragma once

#include "exec/bound_call.h"
#include "exec/cpu/thread_pool.h"
#include "ir/attributes.h"
#include "ir/op_kind.h"

namespace tessera {

struct CpuCall : BoundCall {
  OpKind op;
  const Attributes& attributes;
  ThreadPool& threads;
};

using CpuKernel = void (*)(const CpuCall&);
CpuKernel cpu_kernel(OpKind op);

}  // namespace tessera
