// SPDX-License-Identifier: Apache-2.0
// OpKind -> CUDA kernel and its workspace, from the list of ops that have one, which CMake makes of
// the files in src/ops.
#include <array>

#include "exec/cuda/cuda_call.h"
#include "ir/op_list.h"

namespace tessera {

#define OP(name, folder) void name##_cuda(const CudaCall&);
#define OP_WITH_WORKSPACE(name, folder) \
  OP(name, folder)                      \
  int64_t name##_cuda_workspace_bytes(const OpCall&, CausalAttention&);
#include "exec/cuda/cuda_op_list.def"
#undef OP_WITH_WORKSPACE
#undef OP

namespace {

struct CudaOp {
  CudaKernel kernel = nullptr;
  int64_t (*workspace_bytes)(const OpCall&, CausalAttention&) = nullptr;  // null: the default
};

std::array<CudaOp, kNumOps> make_table() {
  std::array<CudaOp, kNumOps> table{};
#define OP(name, folder) table[static_cast<size_t>(OpKind::name)].kernel = &name##_cuda;
#define OP_WITH_WORKSPACE(name, folder) \
  table[static_cast<size_t>(OpKind::name)] = {&name##_cuda, &name##_cuda_workspace_bytes};
#include "exec/cuda/cuda_op_list.def"
#undef OP_WITH_WORKSPACE
#undef OP
  return table;
}

const CudaOp& find_op(OpKind op) {
  static const std::array<CudaOp, kNumOps> table = make_table();
  return table.at(static_cast<size_t>(op));
}

}  // namespace

bool has_cuda_kernel(OpKind op) { return find_op(op).kernel != nullptr; }

CudaKernel cuda_kernel(OpKind op) {
  const CudaKernel kernel = find_op(op).kernel;
  if (!kernel)
    throw user_error("op {} has no CUDA kernel", name(op)).help("use --device cpu, or one rank");
  return kernel;
}

int64_t default_workspace_bytes(const OpCall& call) {
  const OpDef& def = op_def(call.op);
  return def.workspace_bytes ? def.workspace_bytes(call, DeviceProfile{.threads = 1}) : 0;
}

int64_t cuda_workspace_bytes(const OpCall& call, CausalAttention& attention) {
  const CudaOp& op = find_op(call.op);
  return op.workspace_bytes ? op.workspace_bytes(call, attention) : default_workspace_bytes(call);
}

}  // namespace tessera
