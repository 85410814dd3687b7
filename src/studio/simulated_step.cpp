// SPDX-License-Identifier: Apache-2.0
#include "studio/simulated_step.h"

#include "config/compile_step.h"
#include "core/error.h"
#include "program/pool_room.h"
#include "program/program_work.h"
#include "sim/error_bar.h"
#include "studio/run_on_cluster.h"

namespace tessera {

bool SimulatedStep::fits() const {
  const double devices = cluster.device.cores > 0 ? ranks() : 1;
  const auto peak = static_cast<double>(simulation.peak_bytes),
             host = static_cast<double>(simulation.host_bytes);
  if (!cluster.host)  // the device's memory is the host's
    return (peak + host) * devices <= cluster.device.usable_bytes();
  return peak * devices <= cluster.device.usable_bytes() && host <= cluster.host->bytes_of_device();
}

namespace {

double step_seconds(const RunSpec& spec, const Cluster& cluster) {
  return simulate(compile(spec, {.check = false}).programs, cluster, {}).step_seconds;
}

// A cluster that is too small for the mesh is refused later, with what else is wrong.
void decide_tp_overlap(RunSpec& spec, const Cluster& cluster) {
  if (spec.plan.tp_overlap != TpOverlap::Auto) return;
  RunSpec rings = spec;
  rings.plan.tp_overlap = TpOverlap::Ring;
  spec.plan.tp_overlap = TpOverlap::Off;
  if (spec.plan.mesh.num_ranks() > cluster.levels.back().ranks) return;
  if (step_seconds(rings, cluster) < step_seconds(spec, cluster)) spec = rings;
}

}  // namespace

RunSpec spec_to_simulate(const Cluster& cluster, const Config& config) {
  RunSpec spec = resolve_on(cluster, config);
  if (spec.plan.recompute.kind == RecomputeKind::Fit && spec.memory_bytes == 0)
    spec.memory_bytes = static_cast<int64_t>(cluster.device.usable_bytes()) /
                        (cluster.device.cores > 0 ? spec.plan.mesh.num_ranks() : 1);
  decide_tp_overlap(spec, cluster);
  return spec;
}

// Nothing where the cluster does not know the link.
std::optional<double> flops_per_host_byte(const Cluster& cluster, const RunSpec& spec) {
  if (!cluster.host) return std::nullopt;
  const double link = cluster.host->one_way(spec.plan.mesh.num_ranks());
  return cluster.device.peak(matmul_arithmetic(spec.precision)) / link;
}

SimulatedStep compile_to_simulate(const Config& config, const Cluster& cluster, const RunSpec& spec,
                                  const StepOptions& options) {
  return {.config = config,
          .cluster = cluster,
          .spec = spec,
          .compiled = compile(spec, {.check = options.check,
                                     .flops_per_host_byte = flops_per_host_byte(cluster, spec)}),
          .options = {.unit_cost = options.unit_cost,
                      .model_flops = flops_per_token(spec.model, spec.seq()).causal *
                                     static_cast<double>(spec.tokens_per_step()),
                      .precision = spec.precision,
                      .keep_slices = options.keep_slices,
                      .count_transfers = options.count_transfers,
                      .load = options.load,
                      .copies = options.copies,
                      .cool = options.cool,
                      .attention = options.attention,
                      .loss = options.loss,
                      .layer = options.layer,
                      .steps_drift = options.steps_drift,
                      .late_sums = options.late_sums,
                      .blocking_sends = options.blocking_sends,
                      .split_sends = options.split_sends && !config.plan.sequence_parallel,
                      .repeats = options.repeats,
                      .extra_passes = options.extra_passes,
                      .eager_seconds = options.eager_seconds},
          .simulation = {}};
}

namespace {

// Of a device that is the host's own cores there is none.
void require_host_link(const Cluster& cluster, const Offload& offload) {
  if (!offload.any() || cluster.host || cluster.device.cores > 0) return;
  throw user_error("plan.offload uses the host's memory, of which cluster {} says nothing",
                   cluster.name)
      .at("plan.offload")
      .help("add [host] to a cluster file of your own: `tessera docs cluster` shows it");
}

}  // namespace

void simulate_compiled(SimulatedStep& step) {
  require_host_link(step.cluster, step.spec.plan.offload);
  step.simulation = simulate(step.compiled.programs, step.cluster, step.options);
}

SimulatedStep simulate_step(const Config& config, const Cluster& cluster, const RunSpec& spec,
                            const StepOptions& options) {
  SimulatedStep step = compile_to_simulate(config, cluster, spec, options);
  simulate_compiled(step);
  return step;
}

OtherUtilisation other_utilisation(const SimulatedStep& step) {
  const FlopsPerToken flops = flops_per_token(step.spec.model, step.spec.seq());
  const double model_flops = flops.causal * static_cast<double>(step.spec.tokens_per_step());
  const double mfu = step.simulation.mfu;
  return {.mfu_full = mfu * flops.full / flops.causal,
          .hfu = mfu * work_of(step.compiled.programs, "train_step").flops / model_flops};
}

std::string title_of(const SimulatedStep& step) {
  const Config& config = step.config;
  return fmt::format("{}, batch {} x {}, {}, mesh {}: {} rank{} on {}", model_title(config),
                     config.train.batch, config.train.seq, config.train.precision,
                     to_string(step.spec.plan.mesh), step.ranks(), step.ranks() == 1 ? "" : "s",
                     step.cluster.name);
}

std::vector<Unknown> unknowns_of(const SimulatedStep& step) {
  return unknowns_of({.cluster = step.cluster,
                      .run = step.spec,
                      .options = step.options,
                      .peak_bytes = step.simulation.peak_bytes,
                      .islands = step.islands});
}

Json to_json(const std::vector<Unknown>& unknowns) {
  Json json = Json::array();
  for (const Unknown& each : unknowns) json.push_back({{"name", each.name}, {"text", each.text}});
  return json;
}

Json to_json(const SimulatedStep& step) {
  const Simulation& simulation = step.simulation;
  const Program& program = step.compiled.programs.front();
  const OtherUtilisation other = other_utilisation(step);
  Json json{{"model", model_name(step.config)},
            {"cluster", step.cluster.name},
            {"calibrated", step.cluster.calibrated},
            {"mesh", to_string(program.mesh)},
            {"ranks", step.ranks()},
            {"threads_per_rank", program.threads},
            {"step_seconds", simulation.step_seconds},
            {"tokens_per_second",
             static_cast<double>(step.spec.tokens_per_step()) / simulation.step_seconds},
            {"mfu", simulation.mfu},
            {"mfu_full_attention", other.mfu_full},
            {"hfu", other.hfu},
            {"exposed_communication_seconds", simulation.times.exposed_communication_seconds},
            {"bubble_seconds", simulation.times.bubble_seconds},
            {"peak_bytes", simulation.peak_bytes},
            {"host_bytes", simulation.host_bytes},
            {"fits", step.fits()},
            {"unknown", to_json(unknowns_of(step))}};
  if (const auto bar = nearest_error_bar(step.cluster, program.mesh); bar)
    json["error_bar"] = Json{{"runs", bar->runs}, {"percent", bar->percent}};
  for (const SimulatedRank& rank : simulation.ranks) {
    Json result{{"rank", rank.rank},
                {"alike", rank.alike},
                {"communication_seconds", rank.communication_seconds},
                {"peak_bytes", rank.peak_bytes}};
    for (const TimePart& part : kTimeParts)
      if (part.scope == TimeScope::Program) result[part.key] = rank.times.*part.seconds;
    json["results"].push_back(std::move(result));
  }
  if (const PoolRoom room = pool_room_of(step.compiled.programs); room.rows > 0)
    json["expert_pools"] = to_json(room);
  return json;
}

}  // namespace tessera
