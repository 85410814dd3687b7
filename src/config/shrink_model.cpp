// SPDX-License-Identifier: Apache-2.0
#include "config/shrink_model.h"

#include <algorithm>

#include "mesh/axis_sizes.h"
#include "mesh/expert_axes.h"

namespace tessera {
namespace {

// Two of them on a rank that shares them with others, so that choices differ and some go nowhere.
void shrink_experts(ModelConfig& model, const Plan& plan, int64_t tp) {
  if (!model.has_experts()) return;
  model.experts = std::max<int64_t>(4, 2 * plan.mesh.size(expert_axes(plan)));
  model.top_k = std::min<int64_t>(model.top_k, 2);
  model.expert_mlp_size = 5 * tp;
  if (model.shared_mlp_size > 0) model.shared_mlp_size = 3 * tp;
  model.dense_layers = std::min<int64_t>(model.dense_layers, 1);
  model.expert_groups = std::min<int64_t>(model.expert_groups, 2);
  model.kept_groups = 1;
}

}  // namespace

ShrunkModel shrink_model(const ModelConfig& model, const Plan& plan) {
  const AxisSizes ranks = sizes_of(plan.mesh.axes());
  const int group = plan.mesh.find("tp.group");
  const int64_t tp_group = group < 0 ? 1 : plan.mesh.size(group);
  const int64_t tp_kv = ranks[AxisKind::Tp] / tp_group, cp = ranks[AxisKind::Cp];
  ShrunkModel shrunk{.model = model, .microbatch = {.batch = 2 * ranks.data_ranks(), .seq = 1}};
  ModelConfig& small = shrunk.model;
  // Several in every chunk, since what is in flight grows with them, and not the same in each.
  constexpr int64_t kBlocksPerChunk = 3;
  const int64_t chunks = plan.pipeline_ranks() * std::max(plan.chunks, 2);
  const int64_t layers = plan.pipeline_ranks() > 1 ? kBlocksPerChunk * chunks + 1 : 3;
  if (plan.blocks_per_stage.empty()) small.layers = std::min(model.layers, layers);
  small.mlp_size = 6 * tp_kv * tp_group;
  if (!model.has_sequence()) {
    small.width = 10;
    return shrunk;
  }
  const bool grouped = model.heads > model.kv_heads;
  // Ulysses splits heads over cp too.
  bool ulysses = false;
  if (cp > 1) plan.dims_of(plan.mesh.find("cp"), "attention", ulysses);
  small.kv_heads = tp_kv * (ulysses ? cp : 1);
  small.heads = small.kv_heads * (grouped ? std::max<int64_t>(2, tp_group) : 1);
  const bool free_head_size = model.head_size != model.width / model.heads;
  small.head_size = 4;
  small.width = free_head_size ? small.heads * 4 + 2 : small.heads * 4;
  small.vocabulary = 31;  // divides by nothing, so that padding is at work
  shrunk.microbatch.seq = std::max<int64_t>(8, 2 * cp * tp_kv * tp_group);
  small.context = std::max<int64_t>(shrunk.microbatch.seq, 16);
  small.rope_original_context = std::min(model.rope_original_context, small.context);
  small.init_deviation = 0.1;
  shrink_experts(small, plan, tp_kv * tp_group);
  return shrunk;
}

}  // namespace tessera
