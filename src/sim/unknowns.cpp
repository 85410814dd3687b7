// SPDX-License-Identifier: Apache-2.0
#include "sim/unknowns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/quantities.h"
#include "ir/pool.h"
#include "sim/error_bar.h"

namespace tessera {
namespace {

constexpr int kManyNodes = 64;
constexpr int64_t kTimedTokens = 8192;  // the longest sequences of clusters/h200.toml
constexpr double kNearlyFull = 0.9;

// Ranks of a device each; else they are threads of one machine.
bool on_devices(const Prediction& p) { return p.step && p.cluster.device.cores == 0; }

int ranks_of(const Prediction& p) { return p.run.plan.mesh.num_ranks(); }

int along(const Prediction& p, std::string_view axis) {
  const Mesh& mesh = p.run.plan.mesh;
  const int found = mesh.find(axis);
  return found < 0 ? 1 : mesh.size(found);
}

bool over_devices(const Prediction& p) { return on_devices(p) && ranks_of(p) > 1; }

bool over_nodes(const Prediction& p) {
  return on_devices(p) && ranks_of(p) > p.cluster.levels.front().ranks;
}

// Options say that another program is predicted.
bool is_of_others(const Prediction& p) {
  const SimulateOptions& o = p.options;
  return !o.attention.kernel.empty() || o.loss.passing > 0 || !o.layer.same_as_ours() ||
         o.extra_passes > 0 || o.repeats > 0 || o.eager_seconds > 0;
}

bool shares_experts(const Prediction& p) {
  const Plan& plan = p.run.plan;
  if (p.run.model.experts == 0) return false;
  for (int axis = 0; axis < plan.mesh.num_axes(); ++axis)
    if (plan.mesh.size(axis) > 1 &&
        std::ranges::count(plan.dims[static_cast<size_t>(axis)], kExpertDim) > 0)
      return true;
  return false;
}

bool has_rings(const Prediction& p) {
  return p.run.plan.tp_overlap == TpOverlap::Ring || p.run.plan.zigzag > 1;
}

std::string bar_text(std::string_view kind) {
  const KindBar* bar = find_kind_bar(kind);
  if (bar == nullptr) return "none was compared";
  return fmt::format("8 of 10 of {} published ones were predicted within {} %", bar->runs,
                     bar->percent);
}

std::string reserved_text(const Prediction& p) {
  return short_bytes(static_cast<int64_t>(p.cluster.device.reserve_bytes.value));
}

bool is_nearly_full(const Prediction& p) {
  const double share = static_cast<double>(p.peak_bytes) / p.cluster.device.usable_bytes();
  return on_devices(p) && share > kNearlyFull && share <= 1;
}

constexpr auto kUnknowns = std::to_array<UnknownRow>({
    {.name = "step",
     .matters = [](const Prediction& p) { return p.step; },
     .text = "left out: reading of data, evaluation, checkpoints"},
    {.name = "stragglers",
     .matters = over_nodes,
     .text = "left out: stragglers, noise, and other jobs on the network: all ranks are in step"},
    {.name = "clocks",
     .matters = [](const Prediction& p) { return on_devices(p) && !p.options.cool; },
     .text =
         "assumed: one clock, that of steady training; power limits and heat are not simulated"},
    {.name = "several_devices",
     .matters = [](const Prediction& p) { return over_devices(p) && !is_of_others(p); },
     .text = "not known: how far Tessera's own steps on several devices are off: it never ran on "
             "more than one; published runs are of other programs"},
    {.name = "many_nodes",
     .matters =
         [](const Prediction& p) {
           return over_nodes(p) && ranks_of(p) >= kManyNodes * p.cluster.levels.front().ranks;
         },
     .text = "assumed: latencies over many nodes are those of hops; small sums over 512 nodes were "
             "published slower"},
    {.name = "sends",
     .matters = [](const Prediction& p) { return on_devices(p) && along(p, "pp") > 1; },
     .text =
         "assumed: what stages send has one bandwidth at all sizes; no table by size is published"},
    {.name = "rings",
     .matters = [](const Prediction& p) { return on_devices(p) && has_rings(p); },
     .text = "assumed: rings (cp, tp_overlap) send at the bandwidth of collectives; sends between "
             "two devices were published slower"},
    {.name = "context",
     .matters = [](const Prediction& p) { return on_devices(p) && along(p, "cp") > 1; },
     .text = "not known: how far steps with cp are off; {}",
     .detail = [](const Prediction&) { return bar_text("cp"); }},
    {.name = "long",
     .matters = [](const Prediction& p) { return on_devices(p) && p.run.seq() > kTimedTokens; },
     .text = "assumed: attention over {}, the most that it was timed with here",
     .detail =
         [](const Prediction& p) {
           return fmt::format("{} tokens is as efficient as over {}", p.run.seq(), kTimedTokens);
         }},
    {.name = "fp8",
     .matters = [](const Prediction& p) { return on_devices(p) && p.run.precision.fp8; },
     .text = "not known: how far steps in 8 bits are off; {}",
     .detail = [](const Prediction&) { return bar_text("fp8"); }},
    {.name = "precision",
     .matters =
         [](const Prediction& p) {
           return on_devices(p) && p.run.precision.compute != DType::Bf16;
         },
     .text =
         "assumed: kernels in {} reach the same shares of the peak as in bf16, which were measured",
     .detail = [](const Prediction& p) { return name(p.run.precision); }},
    {.name = "experts",
     .matters = [](const Prediction& p) { return on_devices(p) && p.run.model.experts > 0; },
     .text = "not known: how far mixtures are off: none is among the runs of docs/accuracy.md; of "
             "17 others 13 were predicted within 20 % (docs/simulator.md)"},
    {.name = "router",
     .matters =
         [](const Prediction& p) {
           return p.step && shares_experts(p) && p.options.load.kind == LoadModel::Kind::Uniform;
         },
     .text = "assumed: tokens choose experts evenly; steps with a router's own choices were "
             "published 1.05 to 1.25 times as long (--load)"},
    {.name = "muon",
     .matters =
         [](const Prediction& p) { return on_devices(p) && p.run.optimizer.op == OpKind::muon; },
     .text =
         "assumed: Muon's products are as efficient as others; on a GPU they were never measured"},
    {.name = "offload",
     .matters = [](const Prediction& p) { return on_devices(p) && p.run.plan.offload.any(); },
     .text = "assumed: the host's memory and links serve these copies alone; no step that offloads "
             "was measured on a GPU"},
    {.name = "memory",
     .matters = is_nearly_full,
     .text = "assumed: {} of a device are enough for the driver, its libraries and NCCL's buffers, "
             "which grow with the number of groups",
     .detail = reserved_text},
    {.name = "fragmentation",
     .matters = [](const Prediction& p) { return on_devices(p) && is_of_others(p); },
     .text = "left out: fragmentation of memory; PyTorch reserves more than it uses"},
    {.name = "launches",
     .matters =
         [](const Prediction& p) {
           return on_devices(p) && is_of_others(p) && p.options.eager_seconds == 0;
         },
     .text = "assumed: the step is launched as one graph; where a host launches each kernel, say "
             "how fast (--eager)"},
    {.name = "eager",
     .matters = [](const Prediction& p) { return on_devices(p) && p.options.eager_seconds > 0; },
     .text = "assumed: a host launches each kernel in the same time; steps that it decides were "
             "predicted up to 32 % too fast"},
    {.name = "islands",
     .matters = [](const Prediction& p) { return p.islands; },
     .text =
         "assumed: islands are equally fast, and the line between them is free and loses nothing"},
    {.name = "whole_run",
     .matters = [](const Prediction& p) { return p.whole_run; },
     .text = "assumed: failures are independent, at one rate for the whole run; left out: "
             "evaluation, and slow nodes and stragglers that are not given"},
});

std::string text_of(const UnknownRow& row, const Prediction& prediction) {
  std::string text(row.text);
  if (const size_t at = text.find("{}"); at != std::string::npos)
    text.replace(at, 2, row.detail(prediction));
  return text;
}

}  // namespace

std::span<const UnknownRow> unknown_rows() { return kUnknowns; }

std::vector<Unknown> unknowns_of(const Prediction& prediction) {
  std::vector<Unknown> unknowns;
  if (prediction.options.unit_cost) return unknowns;
  if (prediction.step)
    for (const std::string& each : prediction.cluster.unknown)
      unknowns.push_back({"cluster", "not known: " + each});
  for (const UnknownRow& row : kUnknowns)
    if (row.matters(prediction)) unknowns.push_back({row.name, text_of(row, prediction)});
  return unknowns;
}

}  // namespace tessera
