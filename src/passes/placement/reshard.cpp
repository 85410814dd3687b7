// SPDX-License-Identifier: Apache-2.0
// Steps that shrink data come first: slices, then reduce_scatter, then all_to_all, all_reduce, and
// all_gather last.
#include "passes/placement/reshard.h"

#include <algorithm>

namespace tessera {
namespace {

using Kind = AxisPlacement::Kind;

class Path {
 public:
  Path(Placement from, const Placement& to) : now_(std::move(from)), to_(to) {
    now_.resize(std::max(now_.size(), to.size()));
  }

  std::optional<std::vector<ReshardStep>> find() {
    while (!same_place(now_, to_))
      if (!slice() && !reduce_scatter() && !all_to_all() && !all_reduce() && !all_gather())
        return std::nullopt;
    return steps_;
  }

 private:
  AxisPlacement& now(int axis) { return now_[static_cast<size_t>(axis)]; }
  const AxisPlacement& to(int axis) const { return to_[static_cast<size_t>(axis)]; }
  int num_axes() const { return static_cast<int>(to_.size()); }

  // The axis can split its target dim now: all outer axes that split it already do, and no inner
  // one does.
  bool may_split(int axis) const {
    if (to(axis).kind != Kind::Shard) return false;
    const AxisIds wanted = shard_axes(to_, to(axis).dim), here = shard_axes(now_, to(axis).dim);
    const auto end = std::find(wanted.begin(), wanted.end(), axis);
    return std::equal(wanted.begin(), end, here.begin(), here.end());
  }

  bool is_innermost(int axis) {
    return now(axis).kind == Kind::Shard && shard_axes(now_, now(axis).dim).back() == axis;
  }

  bool split(Kind from, ReshardStep::Kind step) {
    for (int axis = 0; axis < num_axes(); ++axis) {
      if (now(axis).kind != from || !may_split(axis)) continue;
      steps_.push_back({.kind = step, .axes = {axis}, .dim = to(axis).dim});
      now(axis) = to(axis);
      return true;
    }
    return false;
  }
  bool slice() { return split(Kind::Replicate, ReshardStep::Kind::Slice); }
  bool reduce_scatter() { return split(Kind::Partial, ReshardStep::Kind::ReduceScatter); }

  bool all_to_all() {
    for (int axis = 0; axis < num_axes(); ++axis) {
      if (!is_innermost(axis) || now(axis).dim == to(axis).dim || !may_split(axis)) continue;
      steps_.push_back({.kind = ReshardStep::Kind::AllToAll,
                        .axes = {axis},
                        .dim = to(axis).dim,
                        .from = now(axis).dim});
      now(axis) = to(axis);
      return true;
    }
    return false;
  }

  bool all_reduce() {
    AxisIds axes;
    for (int axis = 0; axis < num_axes(); ++axis)
      if (now(axis).kind == Kind::Partial && to(axis).kind == Kind::Replicate) axes.push_back(axis);
    if (axes.empty()) return false;
    for (const int axis : axes) now(axis) = replicate();
    steps_.push_back({.kind = ReshardStep::Kind::AllReduce, .axes = std::move(axes)});
    return true;
  }

  bool all_gather() {
    for (int axis = 0; axis < num_axes(); ++axis) {
      if (!is_innermost(axis) || to(axis).kind != Kind::Replicate) continue;
      steps_.push_back(
          {.kind = ReshardStep::Kind::AllGather, .axes = {axis}, .dim = now(axis).dim});
      now(axis) = replicate();
      return true;
    }
    return false;
  }

  Placement now_;
  const Placement& to_;
  std::vector<ReshardStep> steps_;
};

}  // namespace

bool same_place(const Placement& a, const Placement& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].kind != b[i].kind || a[i].dim != b[i].dim) return false;
    if (a[i].kind == Kind::Shard && shard_axes(a, a[i].dim) != shard_axes(b, b[i].dim))
      return false;
  }
  return true;
}

std::optional<std::vector<ReshardStep>> reshard_steps(Placement from, const Placement& to) {
  return Path(std::move(from), to).find();
}

}  // namespace tessera
