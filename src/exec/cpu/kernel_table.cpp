// SPDX-License-Identifier: Apache-2.0
// OpKind -> CPU kernel, made from the one list; null where the op becomes an instruction of its
// own. A missing kernel is a link error that names it.
#include <array>

#include "exec/cpu/cpu_call.h"
#include "ir/op_list.h"

namespace tessera {

#define COLLECTIVE(name)
#define OP(name, ...) void name##_cpu(const CpuCall&);
#include "ops/op_list.def"

CpuKernel cpu_kernel(OpKind op) {
  static constexpr std::array<CpuKernel, kNumOps> table{
#define COLLECTIVE(name) nullptr,
#define OP(name, ...) &name##_cpu,
#include "ops/op_list.def"
  };
  return table.at(static_cast<size_t>(op));
}

}  // namespace tessera
