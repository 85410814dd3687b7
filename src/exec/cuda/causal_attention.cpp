// SPDX-License-Identifier: Apache-2.0
// The graphs are those that cuDNN has kernels for, operation by operation as its documentation of
// attention has them. The gradient's is the one whose dq is a plain product of ds, which is then
// kept in the workspace: with a sum in fp32 in its place bits would differ from run to run.
#include "exec/cuda/causal_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

#include "exec/cuda/cuda_call.h"
#include "exec/cuda/operation_graph.h"
#include "ir/op_list.h"
#include "ops/attention/attention.h"

namespace tessera {
namespace {

constexpr cudnnDataType_t kBf16 = CUDNN_DATA_BFLOAT16, kFp32 = CUDNN_DATA_FLOAT;
constexpr int64_t kAlignment = 256;
// Of ds, over all parts of a call the same: of 8 x 4096 x 32 heads it is half.
constexpr int64_t kMostScoreBytes = int64_t{9} << 29;

// Dims and strides of a part of a call: whole heads, as the op has them in memory.
struct Layouts {
  int64_t b, s, heads, e;
  GraphDims row, query, key, key_transposed, scores;
  GraphDims row_strides, query_strides, key_strides, key_transposed_strides;

  Layouts(const AttentionSizes& whole, int64_t batch, int64_t kv_heads)
      : b(batch), s(whole.seq), heads(kv_heads * whole.group), e(whole.e) {
    const int64_t all_keys = whole.kv_heads, all = whole.kv_heads * whole.group;
    row = {b, heads, s, 1};
    row_strides = {s * all, 1, all, 1};
    query = {b, heads, s, e};
    query_strides = {s * all * e, e, all * e, 1};
    key = {b, kv_heads, s, e};
    key_strides = {s * all_keys * e, e, all_keys * e, 1};
    key_transposed = {b, kv_heads, e, s};
    key_transposed_strides = {s * all_keys * e, e, 1, all_keys * e};
    scores = {b, heads, s, s};
  }
  // As cuDNN wants what reaches memory between its kernels.
  GraphDims packed_rows() const { return {heads * s, s, 1, 1}; }
};

// Buffers: q, k, v, o, lse.
OperationGraph forward_graph(const Cudnn& cudnn, const Layouts& l, float scale) {
  OperationGraph g(cudnn);
  const GraphTensor q = g.buffer(kBf16, l.query, l.query_strides),
                    k = g.buffer(kBf16, l.key_transposed, l.key_transposed_strides),
                    v = g.buffer(kBf16, l.key, l.key_strides),
                    o = g.buffer(kBf16, l.query, l.query_strides),
                    lse = g.buffer(kFp32, l.row, l.row_strides);
  GraphTensor s = g.inner(kFp32, l.scores);
  g.matmul(q, k, s);
  s = g.causal(g.pointwise(CUDNN_POINTWISE_MUL, {s, g.scalar(scale)}));
  const GraphTensor max = g.inner(kFp32, l.row), sum = g.inner(kFp32, l.row);
  g.reduce(CUDNN_REDUCE_TENSOR_MAX, s, max);
  s = g.pointwise(CUDNN_POINTWISE_EXP, {g.pointwise(CUDNN_POINTWISE_SUB, {s, max})});
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, s, sum);
  g.pointwise(CUDNN_POINTWISE_ADD, {max, g.pointwise(CUDNN_POINTWISE_LOG, {sum})}, lse);
  const GraphTensor p = g.inner(kBf16, l.scores);
  g.pointwise(CUDNN_POINTWISE_DIV, {s, sum}, p);
  g.matmul(p, v, o);
  return g;
}

// to = scores^T x, summed over the heads that share one of keys.
void add_key_gradient(OperationGraph& g, const Layouts& l, const GraphTensor& scores,
                      const GraphTensor& x, const GraphTensor& to) {
  const GraphTensor transposed = g.inner(kBf16, l.scores, {l.heads * l.s * l.s, l.s * l.s, 1, l.s});
  g.view(scores, transposed);
  if (l.query == l.key) return g.matmul(transposed, x, to);
  const GraphTensor by_head = g.inner(kBf16, l.query);
  g.matmul(transposed, x, by_head);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, by_head, to);
}

// Buffers: q, k, v, o, lse, do, dq, dk, dv, delta.
OperationGraph backward_graph(const Cudnn& cudnn, const Layouts& l, float scale_value) {
  OperationGraph g(cudnn);
  const GraphTensor q = g.buffer(kBf16, l.query, l.query_strides),
                    k = g.buffer(kBf16, l.key_transposed, l.key_transposed_strides),
                    v = g.buffer(kBf16, l.key_transposed, l.key_transposed_strides),
                    o = g.buffer(kBf16, l.query, l.query_strides),
                    lse = g.buffer(kFp32, l.row, l.row_strides),
                    dout = g.buffer(kBf16, l.query, l.query_strides),
                    dq = g.buffer(kBf16, l.query, l.query_strides),
                    dk = g.buffer(kBf16, l.key, l.key_strides),
                    dv = g.buffer(kBf16, l.key, l.key_strides),
                    delta = g.buffer(kFp32, l.row, l.packed_rows()), scale = g.scalar(scale_value);

  const GraphTensor product =
      g.inner(kFp32, l.query, {l.heads * l.s * l.e, l.s * l.e, l.heads * l.e, 1});
  const GraphTensor sum = g.inner(kFp32, l.row);
  g.pointwise(CUDNN_POINTWISE_MUL, {dout, o}, product);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, product, sum);
  g.pointwise(CUDNN_POINTWISE_MUL, {sum, g.scalar(1)}, delta);

  GraphTensor s = g.inner(kFp32, l.scores);
  g.matmul(q, k, s);
  s = g.pointwise(CUDNN_POINTWISE_MUL, {s, scale});
  s = g.causal(g.pointwise(CUDNN_POINTWISE_SUB, {s, lse}));
  const GraphTensor p = g.pointwise(CUDNN_POINTWISE_EXP, {s});
  add_key_gradient(g, l, p, dout, dv);

  GraphTensor ds = g.inner(kFp32, l.scores);
  g.matmul(dout, v, ds);
  ds = g.pointwise(CUDNN_POINTWISE_MUL, {g.pointwise(CUDNN_POINTWISE_SUB, {ds, delta}), p});
  ds = g.pointwise(CUDNN_POINTWISE_MUL, {ds, scale});
  add_key_gradient(g, l, ds, q, dk);

  const GraphTensor keys = g.inner(kBf16, l.key, l.key_strides);
  g.view(k, keys);
  g.matmul(ds, keys, dq);
  return g;
}

int64_t largest_divisor(int64_t number, int64_t most) {
  for (int64_t divisor = std::min(number, most); divisor > 1; --divisor)
    if (number % divisor == 0) return divisor;
  return 1;
}

bool fits(OpKind op, const TensorType& q, const TensorType& v, size_t operands) {
  const AttentionSizes s(q, v);
  const bool own_keys = operands == (op == OpKind::attention ? 5 : 8);
  return q.dtype == DType::Bf16 && (s.e == 64 || s.e == 128) && s.value_e == s.e &&
         s.seq % 128 == 0 && own_keys;
}

// Op, batch, seq, heads of keys, group, head size, scale.
using Shape = std::tuple<OpKind, int64_t, int64_t, int64_t, int64_t, int64_t, float>;

Shape shape_of(OpKind op, const Attributes& attributes, const AttentionSizes& s) {
  return {op,
          s.batch,
          s.seq,
          s.kv_heads,
          s.group,
          s.e,
          static_cast<float>(attention_scale(attributes, s.e))};
}

// Runs a call in parts of `batch` batch elements and `kv_heads` heads of keys.
struct Prepared {
  int64_t batch, kv_heads;
  OperationPlan plan;
  int64_t delta_bytes, workspace_bytes;
};

std::optional<Prepared> prepare(const Cudnn& cudnn, OpKind op, const AttentionSizes& s,
                                float scale) {
  if (op == OpKind::attention) {
    OperationPlan plan = forward_graph(cudnn, Layouts(s, s.batch, s.kv_heads), scale).plan();
    const int64_t bytes = plan.workspace_bytes() + kAlignment;
    return Prepared{s.batch, s.kv_heads, std::move(plan), 0, bytes};
  }
  const int64_t head_bytes = s.group * s.seq * s.seq * size_bytes(DType::Bf16);
  const int64_t heads_at_once = kMostScoreBytes / head_bytes;
  const int64_t kv_heads = largest_divisor(s.kv_heads, heads_at_once);
  // cuDNN wants lse aligned to 16 bytes, also where a part begins.
  if (heads_at_once == 0 || (kv_heads < s.kv_heads && kv_heads * s.group % 4 != 0))
    return std::nullopt;
  const int64_t batch =
      kv_heads < s.kv_heads ? 1 : largest_divisor(s.batch, heads_at_once / s.kv_heads);
  OperationPlan plan = backward_graph(cudnn, Layouts(s, batch, kv_heads), scale).plan();
  const int64_t delta_bytes =
      num_blocks(batch * kv_heads * s.rows() * size_bytes(DType::Fp32), kAlignment) * kAlignment;
  const int64_t bytes = plan.workspace_bytes() + delta_bytes + kAlignment;
  return Prepared{batch, kv_heads, std::move(plan), delta_bytes, bytes};
}

}  // namespace

class CausalAttention::Plans {
 public:
  // Null where cuDNN does not take it.
  Prepared* find(OpKind op, const Attributes& attributes, const TensorType& q, const TensorType& v,
                 size_t operands) {
    if (!fits(op, q, v, operands)) return nullptr;
    const AttentionSizes sizes(q, v);
    const Shape shape = shape_of(op, attributes, sizes);
    const auto [found, is_new] = prepared_.try_emplace(shape);
    std::optional<Prepared>& made = found->second;
    if (is_new) try {
        if (!cudnn_) cudnn_ = std::make_unique<Cudnn>();
        if (auto plan = prepare(*cudnn_, op, sizes, std::get<float>(shape)))
          made.emplace(std::move(*plan));
      } catch (const CudaError& error) {
        if (!std::exchange(refused_, true))
          fmt::print(stderr, "note: attention runs without cuDNN: {}\n", error.what());
      }
    return made ? &*made : nullptr;
  }

 private:
  std::unique_ptr<Cudnn> cudnn_;  // from the first call on that it might take
  bool refused_ = false;
  std::map<Shape, std::optional<Prepared>> prepared_;
};

CausalAttention::CausalAttention() : plans_(std::make_unique<Plans>()) {}
CausalAttention::~CausalAttention() = default;

int64_t CausalAttention::workspace_bytes(const OpCall& call) {
  const Prepared* made = plans_->find(call.op, call.attributes, call.operand(0), call.operand(2),
                                      call.operands.size());
  return made ? made->workspace_bytes : 0;
}

int64_t CausalAttention::workspace_bytes(const CudaCall& call) {
  if (!call.plain_causal) return 0;
  const Prepared* made = plans_->find(call.op, call.attributes, *call.operand(0).type,
                                      *call.operand(2).type, call.operands.size());
  return made ? made->workspace_bytes : 0;
}

void CausalAttention::enqueue(const CudaCall& call) {
  const AttentionSizes s(*call.operand(0).type, *call.operand(2).type);
  Prepared& made = *plans_->find(call.op, call.attributes, *call.operand(0).type,
                                 *call.operand(2).type, call.operands.size());
  TESSERA_CHECK(static_cast<int64_t>(call.workspace.size()) >= made.workspace_bytes);
  const bool forward = call.op == OpKind::attention;
  // q, k, v, o, lse, do, dq, dk, dv: the forward's results are the backward's operands.
  std::vector<std::byte*> tensors;
  for (size_t i = 0; i < (forward ? 3 : 6); ++i) tensors.push_back(call.operand(i).data);
  for (const TensorRef& result : call.results) tensors.push_back(result.data);
  constexpr bool kOfKeys[] = {false, true, true, false, false, false, false, true, true};
  constexpr size_t kLse = 4;

  const auto address = reinterpret_cast<uintptr_t>(call.workspace.data());
  std::byte* const delta = call.workspace.data() + (-address & uintptr_t{kAlignment - 1});
  for (int64_t b = 0; b < s.batch; b += made.batch)
    for (int64_t head = 0; head < s.kv_heads; head += made.kv_heads) {
      std::vector<void*> buffers;
      for (size_t i = 0; i < tensors.size(); ++i) {
        const int64_t row = (b * s.seq * s.kv_heads + head) * (kOfKeys[i] ? 1 : s.group);
        const int64_t row_bytes =
            i == kLse ? size_bytes(DType::Fp32) : s.e * size_bytes(DType::Bf16);
        buffers.push_back(tensors[i] + row * row_bytes);
      }
      if (!forward) buffers.push_back(delta);
      made.plan.enqueue(buffers, delta + made.delta_bytes, call.stream);
    }
}

}  // namespace tessera
