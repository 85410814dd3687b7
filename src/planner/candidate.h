// SPDX-License-Identifier: Apache-2.0
// What is planned for, and one way to spread it over ranks: a candidate has a value for every knob.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/run_spec.h"
#include "mesh/axis_sizes.h"
#include "sim/cluster.h"

namespace tessera {

// What the user has fixed, by key of a config: the search varies the other knobs.
using FixedKnobs = std::map<std::string, std::string, std::less<>>;

struct Candidate;

struct PlanTask {
  RunSpec run;  // its plan is what the search finds
  int ranks = 1;
  Cluster cluster;
  FixedKnobs fixed = {};
  bool tries_fp8 = false;      // plans in 8 bits, beside those of the run's precision
  bool tries_rings = false;    // plan.tp_overlap = ring, beside off
  bool tries_offload = false;  // else only where nothing fits without it
  std::optional<int64_t> memory_bytes =
      {};  // of a rank; none: what the cluster's device has to use

  // Of one rank; ranks that share a machine's cores share its memory.
  int64_t rank_memory_bytes() const;
  int threads_per_rank() const;
  // The run as a candidate spreads it.
  RunSpec with(const Candidate& candidate) const;
};

struct Candidate {
  AxisSizes axes = {};
  int64_t microbatch = 1;  // samples of one microbatch on one rank
  int zero = 0;
  RecomputeKind recompute = RecomputeKind::None;
  int every = 1;  // blocks between checkpoints, where blocks are rebuilt; 0: the square root
  std::string schedule = "1f1b";
  int chunks = 1;
  ContextKind context = ContextKind::Ring;
  std::string experts = "ep";  // axes that split experts, as in plan.experts
  DispatchKind dispatch = DispatchKind::Gather;
  TpOverlap tp_overlap = TpOverlap::Off;
  bool shards_over_cp = false;  // states at rest, besides fsdp and ep
  OffloadedStates offload_states = OffloadedStates::None;
  bool offload_activations = false, offload_gradients = false, updates_on_host = false;
  bool fp8 = false;  // where the run's precision is not

  int pp() const { return axes[AxisKind::Pp]; }
  int fsdp() const { return axes[AxisKind::Fsdp]; }
  int ep() const { return axes[AxisKind::Ep]; }
  int cp() const { return axes[AxisKind::Cp]; }
  int tp() const { return axes[AxisKind::Tp]; }
  // Samples of one microbatch, over all ranks.
  int64_t samples() const { return microbatch * axes.data_ranks(); }
  int64_t microbatches(int64_t batch) const { return batch / samples(); }
  // That share the experts of a mixture.
  int expert_ranks() const;
  // Over which states rest in shards, where zero is above 0.
  std::vector<AxisKind> shard_axes() const;
  int state_shards() const;
  auto operator<=>(const Candidate&) const = default;
};

// Whether it agrees with the knobs that the task fixes.
bool is_asked_for(const PlanTask& task, const Candidate& candidate);

Plan plan_of(const Candidate& candidate, const ModelConfig& model, Precision precision);
// "auto", or "fsdp+cp" with '+' between.
std::string shard_axes_text(const Candidate& candidate, char between);
// "none", "fit", "block" and so on, as in a config.
std::string_view recompute_name(const Candidate& candidate);

// "pp=8,fsdp=8,tp=8 zero=1 microbatch=1 recompute=block schedule=1f1b"
std::string to_string(const Candidate& candidate);

// The same with commas or spaces between, in any order, "mesh=" before axes or not; an absent one
// keeps the value of `base`, an absent axis is 1. Throws a UserError.
Candidate parse_candidate(std::string_view text, const Candidate& base);

}  // namespace tessera
