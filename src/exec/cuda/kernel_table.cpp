// SPDX-License-Identifier: Apache-2.0
// OpKind -> CUDA kernel, made from the list of ops that have one.
#include <algorithm>
#include <array>

#include "exec/cuda/cuda_call.h"
#include "ir/op_list.h"
#include "ops/attention/attention_cuda.h"
#include "ops/loss/logit_chunks_cuda.h"

namespace tessera {

#define OP(name, folder) void name##_cuda(const CudaCall&);
#include "exec/cuda/cuda_op_list.def"
#undef OP

// Kernels that need another workspace than the CPU's; the functions stand beside them.
#define CUDA_WORKSPACES(WORKSPACE) \
  WORKSPACE(embedding_grad)        \
  WORKSPACE(layer_norm_grad)       \
  WORKSPACE(reduce_to)             \
  WORKSPACE(rms_norm_grad)

#define OWN_WORKSPACE(name) int64_t name##_cuda_workspace_bytes(const OpCall&);
CUDA_WORKSPACES(OWN_WORKSPACE)
#undef OWN_WORKSPACE

namespace {

std::array<CudaKernel, kNumOps> make_table() {
  std::array<CudaKernel, kNumOps> table{};
#define OP(name, folder) table[static_cast<size_t>(OpKind::name)] = &name##_cuda;
#include "exec/cuda/cuda_op_list.def"
#undef OP
  return table;
}

CudaKernel find_kernel(OpKind op) {
  static const std::array<CudaKernel, kNumOps> table = make_table();
  return table.at(static_cast<size_t>(op));
}

}  // namespace

bool has_cuda_kernel(OpKind op) { return find_kernel(op) != nullptr; }

CudaKernel cuda_kernel(OpKind op) {
  const CudaKernel kernel = find_kernel(op);
  if (!kernel)
    throw user_error("op {} has no CUDA kernel", name(op)).help("use --device cpu, or one rank");
  return kernel;
}

int64_t cuda_workspace_bytes(const OpCall& call) {
  switch (call.op) {
#define OWN_WORKSPACE(name) \
  case OpKind::name:        \
    return name##_cuda_workspace_bytes(call);
    CUDA_WORKSPACES(OWN_WORKSPACE)
#undef OWN_WORKSPACE
    case OpKind::output_loss:
    case OpKind::output_loss_grad:
    case OpKind::output_stats:
    case OpKind::sharded_loss_grad:
      return LogitChunks(call.operand(0), call.operand(1)).workspace_bytes;
    default:
      break;
  }
  const OpDef& def = op_def(call.op);
  const int64_t needed =
      def.workspace_bytes ? def.workspace_bytes(call, DeviceProfile{.threads = 1}) : 0;
  if (call.op == OpKind::attention || call.op == OpKind::attention_grad)
    return std::max(needed, tensor_attention_workspace_bytes(AttentionSizes(call.operand(0))));
  return needed;
}

}  // namespace tessera
