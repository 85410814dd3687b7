// SPDX-License-Identifier: Apache-2.0
#include "train/plan_of_config.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {

Plan plan_of_config(const Config& config, const ModelConfig& model) {
  const bool mlp = model.family == Family::Mlp;
  PlanRequest request{
      .mesh = config.mesh,
      .zero = static_cast<int>(config.plan.zero),
      .sequence_parallel = config.plan.sequence_parallel,
      .context = config.plan.context == "ulysses" ? ContextKind::Ulysses : ContextKind::Ring,
      .reduce_dtype = dtype_from_name(config.plan.reduce_dtype),
      .dims = config.plan_dims};
  const PlanSizes sizes{.kv_heads = mlp ? 0 : model.kv_heads, .heads = mlp ? 0 : model.heads};
  Plan plan = make_plan(request, sizes);
  const int64_t chunks = 2 * plan.zigzag;
  if (plan.zigzag > 1 && !mlp && config.train.seq % chunks != 0)
    throw user_error("cannot cut a sequence of {} into {} chunks for a ring of {} ranks",
                     config.train.seq, chunks, plan.zigzag)
        .at("train.seq")
        .help(fmt::format("use a multiple of 2 x cp: {} or {}",
                          std::max(chunks, config.train.seq / chunks * chunks),
                          (config.train.seq / chunks + 1) * chunks));
  const int cp = plan.mesh.find("cp");
  if (mlp && cp >= 0 && plan.mesh.size(cp) > 1)
    throw user_error("mesh cp = {} splits the sequence, but an mlp has none", plan.mesh.size(cp))
        .help("use dp, fsdp or tp");
  return plan;
}

int threads_per_rank(int threads, const Plan& plan) {
  return std::max(1, threads / plan.mesh.num_ranks());
}

}  // namespace tessera
