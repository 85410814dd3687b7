// SPDX-License-Identifier: Apache-2.0
#include "planner/recipe.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/divisible.h"

namespace tessera {
namespace {

constexpr double kDataParallelParameters = 1.5e9, kModelParallelParameters = 50e9;
constexpr int kDataParallelRanks = 128, kHybridRanks = 256, kModelParallelRanks = 1000;
constexpr int64_t kLongTokens = 10'000, kTokensPerRank = 8192;

// Checkpointing is the last resort of each.
void add(Recipe& recipe, const PlanTask& task, Candidate candidate) {
  for (const RecomputeKind kind : {RecomputeKind::None, RecomputeKind::Blocks}) {
    candidate.recompute = kind;
    if (const auto why = why_not_divisible(task, candidate)) {
      if (recipe.indivisible.empty())
        recipe.indivisible = fmt::format("{}: {}", to_string(candidate), why->reason);
    } else {
      recipe.candidates.push_back(candidate);
    }
  }
}

// tp fills a node, cp brings a rank's tokens down to 8,192, pp grows until it fits.
void add_model_parallel(Recipe& recipe, const PlanTask& task) {
  AxisSizes axes;
  if (task.run.seq() > kLongTokens)
    while (axes[AxisKind::Cp] * kTokensPerRank < task.run.seq()) axes[AxisKind::Cp] *= 2;
  axes[AxisKind::Tp] = std::min({task.cluster.levels.front().ranks, 8, task.ranks});
  for (; axes[AxisKind::Pp] <= task.run.model.layers; axes[AxisKind::Pp] *= 2) {
    axes[AxisKind::Fsdp] = 1;
    axes[AxisKind::Fsdp] = task.ranks / std::min(task.ranks, axes.ranks());
    add(recipe, task, {.axes = axes, .zero = axes[AxisKind::Fsdp] > 1 ? 1 : 0});
  }
}

}  // namespace

Recipe make_recipe(const PlanTask& task, double parameters) {
  Recipe recipe;
  if (task.ranks > kModelParallelRanks || parameters > kModelParallelParameters ||
      (task.run.seq() > kLongTokens && task.run.model.has_sequence()))
    add_model_parallel(recipe, task);
  if (parameters <= kDataParallelParameters && task.ranks <= kDataParallelRanks)
    add(recipe, task, {.axes = {{AxisKind::Dp, task.ranks}}});
  if (task.ranks >= kHybridRanks)
    for (int fsdp = task.cluster.levels.front().ranks; fsdp < task.ranks; fsdp *= 2)
      if (task.ranks % fsdp == 0)
        add(recipe, task,
            {.axes = {{AxisKind::Dp, task.ranks / fsdp}, {AxisKind::Fsdp, fsdp}}, .zero = 3});
  if (task.ranks > 1) add(recipe, task, {.axes = {{AxisKind::Fsdp, task.ranks}}, .zero = 3});
  return recipe;
}

}  // namespace tessera
