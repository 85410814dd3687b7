// SPDX-License-Identifier: Apache-2.0
#include "planner/candidate.h"

#include <fmt/ranges.h>

#include <charconv>

#include "core/choices.h"
#include "core/error.h"
#include "mesh/expert_axes.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

int64_t parse_size(std::string_view entry, std::string_view text) {
  int64_t size = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || last != text.data() + text.size() || size < 0 || size > 1 << 24)
    throw user_error("cannot read {} as a whole number", entry).help("write it as tp=8");
  return size;
}

void set_recompute(Candidate& candidate, std::string_view word) {
  candidate.every = word != "every" ? 1 : candidate.every == 1 ? 0 : candidate.every;
  for (const RecomputeKind kind :
       {RecomputeKind::None, RecomputeKind::Cheap, RecomputeKind::Attention,
        RecomputeKind::KeepAttention, RecomputeKind::Fit, RecomputeKind::Blocks}) {
    candidate.recompute = kind;
    if (recompute_name(candidate) == word) return;
  }
  throw user_error(
      "recompute is {}, but must be none, cheap, attention, block_keep_attention, fit, "
      "block or every",
      word);
}

ContextKind parse_context(std::string_view text) {
  if (text == "ring") return ContextKind::Ring;
  if (text == "ulysses") return ContextKind::Ulysses;
  throw user_error("context is {}, but must be ring or ulysses", text);
}

DispatchKind parse_dispatch(std::string_view text) {
  if (text == "gather") return DispatchKind::Gather;
  if (text == "exchange") return DispatchKind::Exchange;
  throw user_error("dispatch is {}, but must be gather or exchange", text);
}

void set_knob(Candidate& candidate, std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos)
    throw user_error("cannot read {} as knob=value", entry).help("write it as pp=8,tp=8,zero=1");
  const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
  std::vector<std::pair<std::string_view, int*>> sizes{
      {"zero", &candidate.zero}, {"chunks", &candidate.chunks}, {"every", &candidate.every}};
  for (const AxisRow& row : kAxes) sizes.emplace_back(row.name, &candidate.axes[row.axis]);
  for (const auto& [known, size] : sizes)
    if (known == key) {
      *size = static_cast<int>(parse_size(entry, value));
      if (*size < (key == "zero" || key == "every" ? 0 : 1))
        throw user_error("{} is below 1", entry);
      if (key == "every") candidate.recompute = RecomputeKind::Blocks;
      return;
    }
  if (key == "microbatch") {
    candidate.microbatch = parse_size(entry, value);
    if (candidate.microbatch < 1) throw user_error("{} is below 1", entry);
  } else if (key == "recompute") {
    set_recompute(candidate, value);
  } else if (key == "schedule") {
    candidate.schedule = schedule_kind(value).name;
  } else if (key == "context") {
    candidate.context = parse_context(value);
  } else if (key == "experts") {
    candidate.experts = value;
    require_expert_axes(parse_axis_list(value));
  } else if (key == "dispatch") {
    candidate.dispatch = parse_dispatch(value);
  } else {
    throw user_error("{} is no knob of a plan", key)
        .help(fmt::format("knobs are {}, zero, microbatch, recompute, every, schedule, chunks, "
                          "context, experts and dispatch",
                          fmt::join(axis_names(), ", ")));
  }
}

}  // namespace

int Candidate::expert_ranks() const {
  int ranks = 1;
  for (const std::string& name : parse_axis_list(experts)) ranks *= axes[find_axis(name)->axis];
  return ranks;
}

int64_t PlanTask::rank_memory_bytes() const {
  const auto all = static_cast<int64_t>(cluster.device.memory_bytes.value);
  return cluster.device.cores > 0 ? all / ranks : all;
}

int PlanTask::threads_per_rank() const {
  return cluster.device.cores == 0 ? 1 : std::max(1, run.threads / ranks);
}

RunSpec PlanTask::with(const Candidate& candidate) const {
  RunSpec spec = run;
  spec.plan = plan_of(candidate, run.model, run.precision);
  spec.plan.expert_room = run.plan.expert_room;
  spec.microbatches = static_cast<int>(candidate.microbatches(run.batch()));
  spec.microbatch.batch = run.batch() / spec.microbatches;
  spec.threads = threads_per_rank() * candidate.axes.ranks();
  spec.memory_bytes = rank_memory_bytes();
  return spec;
}

bool is_asked_for(const PlanTask& task, const Candidate& candidate) {
  const FixedKnobs& fixed = task.fixed;
  if (fixed.zero && *fixed.zero != candidate.zero) return false;
  if (fixed.microbatches && *fixed.microbatches != candidate.microbatches(task.run.batch()))
    return false;
  if (fixed.recompute &&
      (fixed.recompute->kind != candidate.recompute || fixed.recompute->every != candidate.every))
    return false;
  if (fixed.dispatch && candidate.expert_ranks() > 1 && *fixed.dispatch != candidate.dispatch)
    return false;
  return fixed.schedule.empty() || candidate.pp() == 1 || fixed.schedule == candidate.schedule;
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
    sizes = {.kv_heads = model.kv_heads, .heads = model.heads, .experts = model.experts};
  Plan plan = make_plan({.mesh = candidate.axes.above_one(),
                         .zero = candidate.zero,
                         .experts = parse_axis_list(candidate.experts),
                         .dispatch = candidate.dispatch,
                         .sequence_parallel = candidate.tp() > 1,
                         .context = candidate.context,
                         .schedule = candidate.schedule,
                         .chunks = candidate.chunks,
                         .recompute = {.kind = candidate.recompute, .every = candidate.every}},
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
  text += fmt::format(" zero={} microbatch={} recompute={}", candidate.zero, candidate.microbatch,
                      recompute_name(candidate));
  if (candidate.every != 1) text += fmt::format(" every={}", candidate.every);
  if (candidate.pp() > 1) text += fmt::format(" schedule={}", candidate.schedule);
  if (candidate.chunks > 1) text += fmt::format(" chunks={}", candidate.chunks);
  if (candidate.context == ContextKind::Ulysses) text += " context=ulysses";
  if (candidate.experts != "ep") text += fmt::format(" experts={}", candidate.experts);
  if (candidate.dispatch == DispatchKind::Exchange) text += " dispatch=exchange";
  return text;
}

Candidate parse_candidate(std::string_view text, const Candidate& base) {
  Candidate candidate = base;
  candidate.axes = {};
  if (text.find("schedule=") != std::string_view::npos) candidate.chunks = 0;
  while (!text.empty()) {
    if (text.starts_with("mesh=")) text.remove_prefix(5);
    const size_t end = std::min(text.find_first_of(", "), text.size());
    if (end > 0) set_knob(candidate, text.substr(0, end));
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
