// SPDX-License-Identifier: Apache-2.0
#include "planner/knobs.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/choices.h"
#include "core/error.h"
#include "mesh/expert_axes.h"
#include "schedule/schedule_kinds.h"

namespace tessera {
namespace {

// Larger ones are tried where samples are short: beyond as many tokens kernels gain nothing more.
constexpr int64_t kLargestMicrobatch = 16, kMostTokens = 1 << 17;

using Texts = std::vector<std::string>;

int64_t whole_number(std::string_view knob, std::string_view text, int64_t least) {
  int64_t size = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || last != text.data() + text.size() || size < 0 || size > 1 << 24)
    throw user_error("cannot read {}={} as a whole number", knob, text).help("write it as tp=8");
  if (size < least) throw user_error("{}={} is below {}", knob, text, least);
  return size;
}

// The place of a word among those of a knob.
template <size_t n>
size_t choice(std::string_view knob, std::string_view text,
              const std::array<std::string_view, n>& words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  throw user_error("{} is {}, but must be {}", knob, text,
                   join_choices(Texts(words.begin(), words.end())));
}

constexpr std::array<std::string_view, 2> kContextWords{"ring", "ulysses"};
constexpr std::array<std::string_view, 2> kDispatchWords{"gather", "exchange"};
constexpr std::array<std::string_view, 2> kTpOverlapWords{"off", "ring"};
constexpr std::array<std::string_view, 2> kUpdaters{"device", "host"};
constexpr auto kRecomputeWords = std::to_array<std::string_view>(
    {"none", "cheap", "attention", "block_keep_attention", "fit", "block", "every"});
constexpr auto kRecomputeKinds =
    std::to_array({RecomputeKind::None, RecomputeKind::Cheap, RecomputeKind::Attention,
                   RecomputeKind::KeepAttention, RecomputeKind::Fit, RecomputeKind::Blocks,
                   RecomputeKind::Blocks});

void set_recompute(Candidate& candidate, std::string_view word) {
  const size_t place = choice("recompute", word, kRecomputeWords);
  candidate.recompute = kRecomputeKinds[place];
  candidate.every = word != "every" ? 1 : candidate.every == 1 ? 0 : candidate.every;
}

void set_every(Candidate& candidate, std::string_view text) {
  candidate.every = static_cast<int>(whole_number("every", text, 0));
  candidate.recompute = RecomputeKind::Blocks;
}

void set_shard_axes(Candidate& candidate, std::string_view text) {
  if (text == "auto") {
    candidate.shards_over_cp = false;
    return;
  }
  for (const std::string& name : parse_axis_list(text))
    if (const AxisRow* row = find_axis(name); !row || !row->replicates_parameters)
      throw user_error("shard_axes names {}, along which ranks do not hold the same parameters",
                       name)
          .help("write auto, or fsdp+cp");
  candidate.shards_over_cp = text.find("cp") != std::string_view::npos;
}

void set_offload(Candidate& candidate, std::string_view text) {
  std::string words(text);
  std::ranges::replace(words, '+', ',');
  const Offload offload = parse_offload(words);
  candidate.offload_states = offload.states;
  candidate.offload_activations = offload.activations;
  candidate.offload_gradients = offload.gradients;
}

std::string offload_text(const Candidate& candidate, char between) {
  static constexpr std::array<std::string_view, 4> kStates{"none", "moments", "states",
                                                           "parameters"};
  std::string text;
  const auto add = [&](bool there, std::string_view what) {
    if (there) text += fmt::format("{}{}", text.empty() ? "" : std::string(1, between), what);
  };
  add(candidate.offload_states != OffloadedStates::None,
      kStates[static_cast<size_t>(candidate.offload_states)]);
  add(candidate.offload_gradients, "gradients");
  add(candidate.offload_activations, "activations");
  return text.empty() ? "none" : text;
}

Texts microbatches(const PlanTask& task, const Candidate&) {
  const int64_t of_tokens =
      std::min(kMostTokens / std::max<int64_t>(task.run.seq(), 1), task.run.batch());
  Texts sizes;
  for (int64_t size = 1; size <= std::max(kLargestMicrobatch, of_tokens); size *= 2)
    sizes.push_back(fmt::format("{}", size));
  return sizes;
}

// Over dp alone states would be sharded as over fsdp, which is another candidate.
Texts zero_levels(const PlanTask&, const Candidate& candidate) {
  const bool always = candidate.fsdp() > 1 || candidate.shards_over_cp;
  const bool sharded = always || (candidate.ep() > 1 && candidate.axes[AxisKind::Dp] == 1);
  if (always) return {"1", "2", "3"};
  return sharded ? Texts{"0", "1", "2", "3"} : Texts{"0"};
}

Texts shard_axes(const PlanTask&, const Candidate& candidate) {
  Candidate over_cp = candidate;
  over_cp.shards_over_cp = true;
  return {"auto", shard_axes_text(over_cp, '+')};
}

Texts schedules(const PlanTask&, const Candidate&) {
  Texts names;
  for (const ScheduleKind& kind : schedule_kinds())
    if (kind.planned) names.emplace_back(kind.name);
  return names;
}

Texts chunks(const PlanTask&, const Candidate& candidate) {
  const int most = schedule_kind(candidate.schedule).most_chunks;
  return most > 0 ? Texts{fmt::format("{}", most)} : Texts{"2", "4", "8"};
}

bool has_experts(const PlanTask& task) { return task.run.model.has_experts(); }

Texts precisions(const PlanTask& task, const Candidate&) {
  const std::string own = name(task.run.precision);
  if (!task.tries_fp8 || task.run.precision.fp8) return {own};
  Precision fp8 = task.run.precision;
  fp8.fp8 = true;
  return {own, name(fp8)};
}

// Threads that share a memory copy while they wait: nothing travels beside their matmuls.
Texts tp_overlaps(const PlanTask& task, const Candidate&) {
  const bool blocks = task.run.plan.fp8 && task.run.plan.fp8->blocks;
  const bool off = !task.tries_rings || task.cluster.moves_in_wait || blocks;
  return off ? Texts{"off"} : Texts{"off", "ring"};
}

const auto kKnobs = std::to_array<Knob>({
    {.name = "context",
     .key = "plan.context",
     .values = [](const PlanTask&, const Candidate&) -> Texts {
       return {"ring", "ulysses"};
     },
     .get = [](const Candidate& c) { return std::string(name(c.context)); },
     .set =
         [](Candidate& c, std::string_view text) {
           c.context = static_cast<ContextKind>(choice("context", text, kContextWords));
         },
     .usual = "ring",
     .matters = [](const Candidate& c) { return c.cp() > 1; },
     .scope = KnobScope::Sequence},
    {.name = "experts",
     .key = "plan.experts",
     .values = [](const PlanTask& task, const Candidate& c) -> Texts {
       return has_experts(task) && c.tp() > 1 ? Texts{"ep", "ep+tp"} : Texts{"ep"};
     },
     .get = [](const Candidate& c) { return c.experts; },
     .set =
         [](Candidate& c, std::string_view text) {
           require_expert_axes(parse_axis_list(text));
           c.experts = text;
         },
     .usual = "ep",
     .scope = KnobScope::Experts},
    {.name = "dispatch",
     .key = "plan.dispatch",
     .values = [](const PlanTask& task, const Candidate&) -> Texts {
       return has_experts(task) ? Texts{"gather", "exchange"} : Texts{"gather"};
     },
     .get = [](const Candidate& c) { return std::string(name(c.dispatch)); },
     .set =
         [](Candidate& c, std::string_view text) {
           c.dispatch = static_cast<DispatchKind>(choice("dispatch", text, kDispatchWords));
         },
     .usual = "gather",
     .matters = [](const Candidate& c) { return c.expert_ranks() > 1; },
     .scope = KnobScope::Experts},
    {.name = "tp_overlap",
     .key = "plan.tp_overlap",
     .values = tp_overlaps,
     .get = [](const Candidate& c) { return std::string(name(c.tp_overlap)); },
     .set =
         [](Candidate& c, std::string_view text) {
           c.tp_overlap = static_cast<TpOverlap>(choice("tp_overlap", text, kTpOverlapWords));
         },
     .usual = "off",
     .matters = [](const Candidate& c) { return c.tp() > 1; }},
    {.name = "schedule",
     .key = "plan.schedule",
     .values = schedules,
     .get = [](const Candidate& c) { return c.schedule; },
     .set = [](Candidate& c,
               std::string_view text) { c.schedule = std::string(schedule_kind(text).name); },
     .usual = "",
     .matters = [](const Candidate& c) { return c.pp() > 1; }},
    {.name = "chunks",
     .key = "plan.chunks",
     .values = chunks,
     .get = [](const Candidate& c) { return fmt::format("{}", c.chunks); },
     .set =
         [](Candidate& c, std::string_view text) {
           c.chunks = static_cast<int>(whole_number("chunks", text, 1));
         },
     .usual = "1",
     .matters = [](const Candidate& c) { return c.pp() > 1; },
     .setting = [](const PlanTask&,
                   const Candidate& c) { return fmt::format("{}", c.pp() > 1 ? c.chunks : 0); }},
    {.name = "microbatch",
     .key = "train.microbatches",
     .values = microbatches,
     .get = [](const Candidate& c) { return fmt::format("{}", c.microbatch); },
     .set = [](Candidate& c,
               std::string_view text) { c.microbatch = whole_number("microbatch", text, 1); },
     .setting =
         [](const PlanTask& task, const Candidate& c) {
           return fmt::format("{}", c.microbatches(task.run.batch()));
         },
     .from_setting =
         [](const PlanTask& task, const Candidate& c, const std::string& text) {
           const int64_t parts = whole_number("train.microbatches", text, 1);
           return fmt::format(
               "{}", std::max<int64_t>(1, task.run.batch() / (parts * c.axes.data_ranks())));
         }},
    {.name = "shard_axes",
     .key = "plan.shard_axes",
     .values = shard_axes,
     .get = [](const Candidate& c) { return shard_axes_text(c, '+'); },
     .set = set_shard_axes,
     .usual = "auto",
     .matters = [](const Candidate& c) { return c.cp() > 1; },
     .setting = [](const PlanTask&, const Candidate& c) { return shard_axes_text(c, ','); }},
    {.name = "zero",
     .key = "plan.zero",
     .values = zero_levels,
     .get = [](const Candidate& c) { return fmt::format("{}", c.zero); },
     .set = [](Candidate& c,
               std::string_view text) { c.zero = static_cast<int>(whole_number("zero", text, 0)); },
     .complete = true},
    {.name = "recompute",
     .key = "plan.recompute",
     .values = [](const PlanTask&, const Candidate&) -> Texts {
       return {"none", "attention", "block"};
     },
     .get = [](const Candidate& c) { return std::string(recompute_name(c)); },
     .set = set_recompute},
    {.name = "every",
     .key = "plan.recompute_every",
     .get = [](const Candidate& c) { return fmt::format("{}", c.every); },
     .set = set_every,
     .usual = "1",
     .matters = [](const Candidate& c) { return c.recompute == RecomputeKind::Blocks; }},
    {.name = "offload",
     .key = "plan.offload",
     .get = [](const Candidate& c) { return offload_text(c, '+'); },
     .set = set_offload,
     .usual = "none",
     .setting = [](const PlanTask&, const Candidate& c) { return offload_text(c, ','); }},
    {.name = "offload_update",
     .key = "plan.offload_update",
     .get = [](const Candidate& c) { return std::string(kUpdaters[c.updates_on_host ? 1 : 0]); },
     .set =
         [](Candidate& c, std::string_view text) {
           c.updates_on_host = choice("offload_update", text, kUpdaters) == 1;
         },
     .usual = "device",
     .matters = [](const Candidate& c) { return c.offload_states != OffloadedStates::None; }},
    {.name = "precision",
     .key = "train.precision",
     .values = precisions,
     .get = [](const Candidate& c) -> std::string { return c.fp8 ? "fp8" : ""; },
     .set = [](Candidate& c, std::string_view text) { c.fp8 = text.ends_with("fp8"); },
     .usual = "",
     .setting =
         [](const PlanTask& task, const Candidate& c) {
           Precision precision = task.run.precision;
           precision.fp8 |= c.fp8;
           return name(precision);
         }},
});

}  // namespace

std::vector<std::string> Knob::values_for(const PlanTask& task, const Candidate& candidate) const {
  const auto fixed = task.fixed.find(key);
  if (matters_to(candidate) && fixed != task.fixed.end()) {
    const std::string text =
        from_setting ? from_setting(task, candidate, fixed->second) : fixed->second;
    const bool senseless = complete && std::ranges::count(values(task, candidate), text) == 0;
    return senseless ? Texts{} : Texts{text};
  }
  if (!values || !matters_to(candidate)) return {get(candidate)};
  return values(task, candidate);
}

std::span<const Knob> knobs() { return kKnobs; }

const Knob* find_knob(std::string_view name) {
  const auto found = std::ranges::find(kKnobs, name, &Knob::name);
  return found == kKnobs.end() ? nullptr : &*found;
}

}  // namespace tessera
