// SPDX-License-Identifier: Apache-2.0
#include "plan/recipe.h"

#include <algorithm>

#include "plan/divisible.h"

namespace tessera {
namespace {

constexpr double kDataParallelParameters = 1.5e9, kModelParallelParameters = 50e9;
constexpr int kDataParallelRanks = 128, kHybridRanks = 256, kModelParallelRanks = 1000;
constexpr int64_t kLongTokens = 10'000, kTokensPerRank = 8192;

// Checkpointing is the last resort of each.
void add(std::vector<Candidate>& list, const PlanTask& task, Candidate candidate) {
  for (const RecomputeKind kind : {RecomputeKind::None, RecomputeKind::Blocks}) {
    candidate.recompute = kind;
    if (!why_not_divisible(task, candidate)) list.push_back(candidate);
  }
}

// tp fills a node, cp brings a rank's tokens down to 8,192, pp grows until it fits.
void add_model_parallel(std::vector<Candidate>& list, const PlanTask& task) {
  Candidate candidate;
  if (task.seq > kLongTokens)
    while (candidate.cp * kTokensPerRank < task.seq) candidate.cp *= 2;
  candidate.tp = std::min({task.cluster.levels.front().ranks, 8, task.ranks});
  for (candidate.pp = 1; candidate.pp <= task.model.layers; candidate.pp *= 2) {
    candidate.fsdp = task.ranks / std::min(task.ranks, candidate.pp * candidate.cp * candidate.tp);
    candidate.zero = candidate.fsdp > 1 ? 1 : 0;
    add(list, task, candidate);
  }
}

}  // namespace

std::vector<Candidate> recipe_candidates(const PlanTask& task, double parameters) {
  std::vector<Candidate> list;
  if (task.ranks > kModelParallelRanks || parameters > kModelParallelParameters ||
      (task.seq > kLongTokens && task.model.family != Family::Mlp))
    add_model_parallel(list, task);
  if (parameters <= kDataParallelParameters && task.ranks <= kDataParallelRanks)
    add(list, task, {.dp = task.ranks});
  if (task.ranks >= kHybridRanks)
    for (int fsdp = task.cluster.levels.front().ranks; fsdp < task.ranks; fsdp *= 2)
      if (task.ranks % fsdp == 0)
        add(list, task, {.dp = task.ranks / fsdp, .fsdp = fsdp, .zero = 3});
  if (task.ranks > 1) add(list, task, {.fsdp = task.ranks, .zero = 3});
  return list;
}

}  // namespace tessera
