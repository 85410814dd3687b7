// SPDX-License-Identifier: Apache-2.0
// What a CPU kernel gets. Buffers are contiguous in the order of their dims and 64-byte aligned;
// results never overlap operands except where the op's in_place allows it. Kernels allocate nothing
// and give the same bits for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "exec/cpu/thread_pool.h"
#include "exec/tensor_ref.h"
#include "ir/attributes.h"
#include "ir/op_kind.h"

namespace tessera {

struct CpuCall {
  OpKind op;
  const Attributes& attributes;
  std::span<const TensorRef> operands;
  std::span<const TensorRef> results;
  uint64_t accumulate = 0;  // bit i: add into result i instead of writing it
  std::span<std::byte> workspace;
  ThreadPool& threads;

  bool accumulates(size_t i) const { return (accumulate >> i) & 1u; }
  // Operand i, or an absent one where fewer were given.
  TensorRef operand(size_t i) const { return i < operands.size() ? operands[i] : TensorRef{}; }
  TensorRef result(size_t i) const { return i < results.size() ? results[i] : TensorRef{}; }
};

using CpuKernel = void (*)(const CpuCall&);
CpuKernel cpu_kernel(OpKind op);

}  // namespace tessera
