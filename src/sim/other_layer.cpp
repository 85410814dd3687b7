// SPDX-License-Identifier: Apache-2.0
#include "sim/other_layer.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/error.h"
#include "ir/op_list.h"

namespace tessera {
namespace {

// From Megatron-LM's source, in 16 bits, with dropout. Backward of a norm: its second kernel reads
// both operands again for scale and shift 4, the residual's gradient is added apart 6 instead of 2,
// and dropout reads 2 and its mask 1 and writes 2. Attention is five kernels: heads are made
// contiguous 4 after two products, softmax and dropout; its gradient is eight, which copy the
// gradients of queries, keys and values side by side 12, but one product and one sum follow where
// we have three: six fewer. A bias, dropout and the residual are one kernel, which writes a mask
// of 1.
constexpr std::array kLayers{
    OtherLayer{.name = "tessera"},
    OtherLayer{.name = "megatron",
               .norm_grad = {.bytes = 13, .launches = 3},
               .attention = {.bytes = 4, .launches = 4},
               .attention_grad = {.bytes = 16, .launches = 1},
               .bias_add = {.bytes = -3, .launches = -1},
               .bias_and_sum = {.launches = -1},
               .joins_qkv = true},
};

More more_of(const OtherLayer& layer, OpKind op) {
  switch (op) {
    case OpKind::layer_norm_grad:
    case OpKind::rms_norm_grad:
      return layer.norm_grad;
    case OpKind::attention:
      return layer.attention;
    case OpKind::attention_grad:
      return layer.attention_grad;
    case OpKind::bias_add:
      return layer.bias_add;
    default:
      return {};
  }
}

bool multiplies(OpKind op) { return op == OpKind::matmul || op == OpKind::matmul_epilogue; }

}  // namespace

const OtherLayer& find_other_layer(std::string_view name) {
  const auto* found = std::ranges::find(kLayers, name, &OtherLayer::name);
  TESSERA_CHECK(found != kLayers.end());
  return *found;
}

std::vector<std::string> other_layer_names() {
  std::vector<std::string> names;
  for (const OtherLayer& layer : kLayers) names.emplace_back(layer.name);
  return names;
}

double moved_by_layer(const OtherLayer& layer, const OpCall& call) {
  if (layer.same_as_ours() || call.operands.empty()) return 0;
  // A gradient that is added to another one: three products do that for queries, keys and values.
  const bool adds = layer.joins_qkv && call.op == OpKind::matmul && call.operands.size() == 3 &&
                    call.result(0).dtype != DType::Fp32;
  if (adds) return -2 * static_cast<double>(call.result(0).bytes());
  const double entries = static_cast<double>(call.operand(0).bytes()) /
                         static_cast<double>(size_bytes(call.operand(0).dtype));
  return more_of(layer, call.op).bytes * entries;
}

int launched_by_layer(const OtherLayer& layer, const KernelInstruction& kernel) {
  const bool adds_both = kernel.op == OpKind::matmul_epilogue && kernel.operands.size() == 4;
  return adds_both ? layer.bias_and_sum.launches : more_of(layer, kernel.op).launches;
}

std::vector<QkvPart> qkv_parts(const OtherLayer& layer, std::span<const Instruction> routine) {
  std::vector<QkvPart> parts(routine.size(), QkvPart::None);
  if (!layer.joins_qkv) return parts;
  std::set<int> read;
  for (size_t i = 0; i < routine.size(); ++i) {
    const auto* kernel = routine[i].as<KernelInstruction>();
    if (kernel == nullptr) continue;
    const Phase phase = routine[i].phase;
    const bool forward = phase == Phase::Forward || phase == Phase::Recompute;
    if (!forward && kernel->op == OpKind::add)
      parts[i] = QkvPart::Sum;
    else if (forward && multiplies(kernel->op) && !read.insert(kernel->operands[0]).second)
      parts[i] = QkvPart::Joined;
  }
  return parts;
}

}  // namespace tessera
