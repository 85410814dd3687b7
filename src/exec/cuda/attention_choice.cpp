// SPDX-License-Identifier: Apache-2.0
#include "exec/cuda/attention_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "exec/cuda/causal_attention.h"
#include "exec/cuda/fastest_candidate.h"
#include "exec/cuda/hopper_attention.h"
#include "exec/cuda/matrix_products.h"
#include "ir/op_list.h"
#include "ops/attention/attention_cuda.h"

namespace tessera {
namespace {

// Of cuDNN's gradient where there is ours for Hopper: it keeps gradients of scores, whose size
// grows with the square of the length.
constexpr int64_t kMostScoreBytes = int64_t{256} << 20;

// Of a call, whether its types alone or its buffers too are known.
struct Shape {
  OpKind op;
  const TensorType &q, &v;
  double scale;
  int64_t cudnn_bytes = 0;  // 0: it does not take the call

  bool forward() const { return op == OpKind::attention; }
  AttentionSizes sizes() const { return {q, v}; }
};

bool hopper_takes(const Shape& s) {
  return s.forward() ? hopper_takes_attention(s.q, s.v, s.scale)
                     : hopper_takes_attention_grad(s.q, s.v);
}
int64_t hopper_bytes(const Shape& s) {
  return s.forward() ? hopper_attention_bytes(s.sizes()) : hopper_attention_grad_bytes(s.sizes());
}
bool tensor_cores_take(const Shape& shape) {
  const AttentionSizes s = shape.sizes();
  // With more rows the list of tiles would not leave enough shared memory.
  return shape.q.dtype == DType::Bf16 && (s.e == 64 || s.e == 128) && s.value_e == s.e &&
         s.rows() <= (1 << 19) && shape.scale > 0;
}
int64_t bytes_of(const Shape& s, AttentionPath path) {
  if (path == AttentionPath::Hopper) return hopper_bytes(s);
  if (path == AttentionPath::Cudnn) return s.cudnn_bytes;
  return path == AttentionPath::TensorCores ? tensor_attention_workspace_bytes(s.sizes()) : 0;
}

// By types and attributes of the call, and by cuDNN's plan, which is made only where it may be
// used.
template <typename Call>
Shape shape_of(const Call& call, const TensorType& q, const TensorType& v,
               CausalAttention& attention) {
  Shape shape{call.op, q, v, attention_scale(call.attributes, q.dims[4].size)};
  const AttentionSizes s = shape.sizes();
  const int64_t score_bytes = s.batch * s.kv_heads * s.rows() * s.seq * size_bytes(DType::Bf16);
  if (shape.forward() || !hopper_takes(shape) || score_bytes <= kMostScoreBytes)
    shape.cudnn_bytes = attention.workspace_bytes(call);
  return shape;
}

std::vector<AttentionPath> candidates_of(const Shape& shape) {
  std::vector<AttentionPath> paths;
  if (hopper_takes(shape)) paths.push_back(AttentionPath::Hopper);
  if (shape.cudnn_bytes > 0) paths.push_back(AttentionPath::Cudnn);
  if (tensor_cores_take(shape)) paths.push_back(AttentionPath::TensorCores);
  if (paths.empty()) paths.push_back(AttentionPath::PlainCores);
  return paths;
}

std::string key_of(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  return fmt::format("{}: {} of {} x {} tokens, {} x {} heads of {} and {}, {}, {}",
                     call.products.machine(), name(call.op), s.batch, s.seq, s.kv_heads, s.group,
                     s.e, s.value_e, call.plain_causal ? "causal" : "masked",
                     call.repeatable ? "repeatable" : "in any order");
}

void keep(AlgorithmFile& file, const std::string& key, AttentionPath path) {
  try {
    file.add(key, {static_cast<uint64_t>(path)});
  } catch (const std::exception& error) {
    fmt::print(stderr, "warning: another run may choose other kernels of attention: {}\n",
               error.what());
  }
}

}  // namespace

std::vector<AttentionPath> attention_candidates(const CudaCall& call) {
  return candidates_of(
      shape_of(call, *call.operand(0).type, *call.operand(2).type, call.attention));
}

int64_t attention_workspace_bytes(const OpCall& call, CausalAttention& attention) {
  const Shape shape = shape_of(call, call.operand(0), call.operand(2), attention);
  int64_t bytes = default_workspace_bytes(call);
  for (const AttentionPath path : candidates_of(shape))
    bytes = std::max(bytes, bytes_of(shape, path));
  return bytes;
}

void run_fastest_attention(const CudaCall& call, const std::function<void(AttentionPath)>& run) {
  if (call.path) return run(*call.path);
  const std::vector<AttentionPath> paths = attention_candidates(call);
  if (paths.size() == 1) return run(paths.front());
  AlgorithmFile& file = call.products.algorithms();
  const std::string key = key_of(call);
  if (const AlgorithmFile::Algorithm* kept = file.find(key)) {
    const auto path = static_cast<AttentionPath>(kept->front());
    if (std::ranges::find(paths, path) != paths.end()) return run(path);
  }
  if (is_recording(call.stream)) return run(paths.front());
  const auto at = [&](int i) { return paths[static_cast<size_t>(i)]; };
  const int best = fastest_candidate(static_cast<int>(paths.size()), call.stream, [&](int i) {
    run(at(i));
    return true;
  });
  keep(file, key, at(best));
  run(at(best));
}

}  // namespace tessera
