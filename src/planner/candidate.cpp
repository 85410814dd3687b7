// SPDX-License-Identifier: Apache-2.0
#include "planner/candidate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "planner/knobs.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

int read_axis_size(std::string_view entry, std::string_view text) {
  int size = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || last != text.data() + text.size() || size < 0 || size > 1 << 24)
    throw user_error("cannot read {} as a whole number", entry).help("write it as tp=8");
  if (size < 1) throw user_error("{} is below 1", entry);
  return size;
}

void set_entry(Candidate& candidate, std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos)
    throw user_error("cannot read {} as knob=value", entry).help("write it as pp=8,tp=8,zero=1");
  const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
  std::vector<std::string_view> axes;  // a run of several islands has a plan for each
  for (const AxisRow& row : kAxes)
    if (!row.apart) axes.push_back(row.name);
  if (std::ranges::find(axes, key) != axes.end()) {
    candidate.axes[find_axis(key)->axis] = read_axis_size(entry, value);
    return;
  }
  if (const Knob* knob = find_knob(key)) return knob->set(candidate, value);
  std::vector<std::string> names;
  for (const Knob& knob : knobs()) names.emplace_back(knob.name);
  throw user_error("{} is no knob of a plan", key)
      .help(fmt::format("knobs are {}, {}", fmt::join(axes, ", "), fmt::join(names, ", ")));
}

}  // namespace

int Candidate::expert_ranks() const {
  int ranks = 1;
  for (const std::string& name : parse_axis_list(experts)) ranks *= axes[find_axis(name)->axis];
  return ranks;
}

std::vector<AxisKind> Candidate::shard_axes() const {
  std::vector<AxisKind> shards;
  for (const AxisKind axis : axes.state_axes())
    if (!shards_over_cp || axis != AxisKind::Dp) shards.push_back(axis);
  if (shards_over_cp && cp() > 1) shards.push_back(AxisKind::Cp);
  return shards;
}

int Candidate::state_shards() const {
  int shards = 1;
  for (const AxisKind axis : shard_axes()) shards *= axes[axis];
  return shards;
}

int64_t PlanTask::rank_memory_bytes() const {
  if (memory_bytes) return *memory_bytes;
  const auto all = static_cast<int64_t>(std::max(0.0, cluster.device.usable_bytes()));
  return cluster.device.cores > 0 ? all / ranks : all;
}

int PlanTask::threads_per_rank() const {
  return cluster.device.cores == 0 ? 1 : std::max(1, run.threads / ranks);
}

RunSpec PlanTask::with(const Candidate& candidate) const {
  RunSpec spec = run;
  spec.precision.fp8 |= candidate.fp8;
  spec.plan = plan_of(candidate, run.model, spec.precision);
  if (run.plan.fp8) spec.plan.fp8 = run.plan.fp8;
  spec.plan.expert_room = run.plan.expert_room;
  spec.microbatches = static_cast<int>(candidate.microbatches(run.batch()));
  spec.microbatch.batch = run.batch() / spec.microbatches;
  spec.threads = threads_per_rank() * candidate.axes.ranks();
  spec.memory_bytes = rank_memory_bytes();
  return spec;
}

bool is_asked_for(const PlanTask& task, const Candidate& candidate) {
  return std::ranges::all_of(knobs(), [&](const Knob& knob) {
    const auto fixed = task.fixed.find(knob.key);
    if (fixed == task.fixed.end() || !knob.matters_to(candidate)) return true;
    if (knob.from_setting) return knob.setting_of(task, candidate) == fixed->second;
    Candidate as_fixed = candidate;
    knob.set(as_fixed, fixed->second);
    return as_fixed == candidate;
  });
}

std::string shard_axes_text(const Candidate& candidate, char between) {
  if (!candidate.shards_over_cp) return "auto";
  std::string text;
  for (const AxisKind axis : candidate.shard_axes()) {
    if (!text.empty()) text += between;
    text += kAxes[static_cast<size_t>(axis)].name;
  }
  return text;
}

std::string_view recompute_name(const Candidate& candidate) {
  switch (candidate.recompute) {
    case RecomputeKind::Cheap:
      return "cheap";
    case RecomputeKind::Attention:
      return "attention";
    case RecomputeKind::KeepAttention:
      return "block_keep_attention";
    case RecomputeKind::Fit:
      return "fit";
    case RecomputeKind::Blocks:
      return candidate.every == 1 ? "block" : "every";
    case RecomputeKind::None:
    case RecomputeKind::Values:  // how Fit is carried out
      break;
  }
  return "none";
}

Plan plan_of(const Candidate& candidate, const ModelConfig& model, Precision precision) {
  PlanSizes sizes;
  if (model.has_sequence())
    sizes = {.kv_heads = model.kv_heads,
             .heads = model.heads,
             .experts = model.experts,
             .top_k = model.top_k};
  std::vector<std::string> shard_axes;
  if (candidate.shards_over_cp) shard_axes = parse_axis_list(shard_axes_text(candidate, ','));
  Plan plan = make_plan({.mesh = candidate.axes.above_one(),
                         .zero = candidate.zero,
                         .shard_axes = std::move(shard_axes),
                         .experts = parse_axis_list(candidate.experts),
                         .dispatch = candidate.dispatch,
                         .sequence_parallel = candidate.tp() > 1,
                         .tp_overlap = candidate.tp_overlap,
                         .context = candidate.context,
                         .schedule = candidate.schedule,
                         .chunks = candidate.chunks,
                         .recompute = {.kind = candidate.recompute, .every = candidate.every},
                         .offload = {.states = candidate.offload_states,
                                     .gradients = candidate.offload_gradients,
                                     .activations = candidate.offload_activations,
                                     .update_on_host = candidate.updates_on_host}},
                        sizes);
  if (precision.fp8) plan.fp8.emplace();
  plan.keys.dispatch = candidate.dispatch;
  return plan;
}

std::string to_string(const Candidate& candidate) {
  std::string text;
  for (const Axis& axis : candidate.axes.above_one())
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  if (text.empty()) text = "dp=1";
  for (const Knob& knob : knobs())
    if (const std::string value = knob.get(candidate);
        knob.matters_to(candidate) && value != knob.usual)
      text += fmt::format(" {}={}", knob.name, value);
  return text;
}

Candidate parse_candidate(std::string_view text, const Candidate& base) {
  Candidate candidate = base;
  candidate.axes = {};
  if (text.find("schedule=") != std::string_view::npos) candidate.chunks = 0;
  while (!text.empty()) {
    if (text.starts_with("mesh=")) text.remove_prefix(5);
    const size_t end = std::min(text.find_first_of(", "), text.size());
    if (end > 0) set_entry(candidate, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (candidate.pp() == 1) {
    candidate.schedule = "1f1b";
    candidate.chunks = 1;
  }
  if (candidate.chunks == 0) candidate.chunks = schedule_kind(candidate.schedule).least_chunks;
  return candidate;
}

}  // namespace tessera
