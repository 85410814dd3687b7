// SPDX-License-Identifier: Apache-2.0
// tessera simulate: how long a training step would take on a cluster, without running it.
#include <charconv>
#include <memory>

#include "cli/cluster_option.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/compile_step.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "models/model_size.h"
#include "program/pool_room.h"
#include "record/run_record.h"
#include "report/record_simulation.h"
#include "sim/cluster_warnings.h"
#include "sim/simulate.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Simulates the programs that `train` would run, with a cost model of the cluster. Without a\n"
    "config file the precision is bf16 on clusters of GPUs. exposed communication: ranks wait\n"
    "while bytes move. bubble: ranks wait for other ranks. Both are means over ranks; peak\n"
    "bytes are those of the fullest rank.\n"
    "Examples:\n"
    "  tessera simulate --model gpt2-124m --batch 4 --seq 256\n"
    "  tessera simulate --cluster dgx-h100 --model llama3-8b --precision fp8 --mesh fsdp=8 \\\n"
    "    --batch 8 --seq 8192 --trace step.json\n"
    "  tessera simulate --cluster my-cluster.toml --model llama3-70b --mesh dp=8,tp=8 --batch 8\n"
    "  tessera simulate --cluster dgx-h100 --model qwen3-30b-a3b --mesh fsdp=2,ep=8 --batch 16 \\\n"
    "    --load lognormal:0.5\n"
    "  tessera simulate --cluster laptop --mesh pp=2,dp=2 --microbatches 4 --out out/simulated\n"
    "  tessera simulate --unit-cost 1,1,1 --microbatches 4        the cost of a schedule alone";

struct SimulateCommand {
  RunOptions run;
  std::string cluster, unit_cost, trace, out, load = "uniform";
};

std::optional<UnitCost> unit_cost_of(const std::string& text) {
  if (text.empty()) return {};
  std::array<double, 3> costs{};
  const char *at = text.data(), *end = at + text.size();
  bool good = true;
  for (size_t i = 0; i < costs.size() && good; ++i) {
    const auto read = std::from_chars(at, end, costs[i]);
    good = read.ec == std::errc{} && costs[i] >= 0 &&
           (i + 1 < costs.size() ? read.ptr < end && *read.ptr == ',' : read.ptr == end);
    at = read.ptr + 1;
  }
  if (!good)
    throw user_error("cannot read {} as three costs", text)
        .at("--unit-cost " + text)
        .help("give forward, input gradient and weight gradient, such as 1,1,1");
  return UnitCost{costs[0], costs[1], costs[2]};
}

// Of the last step of a run whose experts were counted.
LoadModel measured_load(const std::string& folder) {
  const RunRecord run = read_run(folder);
  for (auto step = run.steps.rbegin(); step != run.steps.rend(); ++step) {
    if (step->loads.empty()) continue;
    LoadModel load{.kind = LoadModel::Kind::Measured};
    for (const ExpertLoad& layer : step->loads)
      load.counts.emplace_back(layer.counts.begin(), layer.counts.end());
    return load;
  }
  throw user_error("{} has no loads of experts", folder)
      .at("--load measured:" + folder)
      .help("give the folder of a run that trained a mixture of experts");
}

LoadModel load_of(const std::string& text) {
  constexpr std::string_view kMeasured = "measured:";
  return text.starts_with(kMeasured) ? measured_load(text.substr(kMeasured.size()))
                                     : parse_load_model(text);
}

// The cluster gives the memory for `fit`, unless the config specifies it.
int64_t memory_to_fit(const RunSpec& spec, const Cluster& cluster) {
  if (spec.plan.recompute.kind != RecomputeKind::Fit || spec.memory_bytes > 0)
    return spec.memory_bytes;
  return static_cast<int64_t>(cluster.device.memory_bytes.value) /
         (cluster.device.cores > 0 ? spec.plan.mesh.num_ranks() : 1);
}

bool fits(const Cluster& cluster, const Simulation& simulation, int ranks) {
  const double devices = cluster.device.cores > 0 ? ranks : 1;
  return static_cast<double>(simulation.peak_bytes) * devices <= cluster.device.memory_bytes.value;
}

// Shares of the peak: full attention counted, and all that the programs run.
struct OtherUtilisation {
  double mfu_full = 0, hfu = 0;
};

OtherUtilisation other_utilisation(const RunFacts& facts, const Simulation& simulation) {
  const double model_flops =
      facts.flops_per_token.causal * static_cast<double>(facts.tokens_per_step);
  return {.mfu_full = simulation.mfu * facts.flops_per_token.full / facts.flops_per_token.causal,
          .hfu = simulation.mfu * facts.hardware_flops / model_flops};
}

Json to_json(const Config& config, const Cluster& cluster, const RunFacts& facts,
             const Simulation& simulation) {
  const OtherUtilisation other = other_utilisation(facts, simulation);
  Json json{
      {"model", preset_name(config)},
      {"cluster", cluster.name},
      {"calibrated", cluster.calibrated},
      {"mesh", facts.mesh},
      {"ranks", facts.ranks},
      {"threads_per_rank", facts.threads_per_rank},
      {"step_seconds", simulation.step_seconds},
      {"tokens_per_second", static_cast<double>(facts.tokens_per_step) / simulation.step_seconds},
      {"mfu", simulation.mfu},
      {"mfu_full_attention", other.mfu_full},
      {"hfu", other.hfu},
      {"exposed_communication_seconds", simulation.times.exposed_communication_seconds},
      {"bubble_seconds", simulation.times.bubble_seconds},
      {"peak_bytes", simulation.peak_bytes},
      {"fits", fits(cluster, simulation, facts.ranks)}};
  for (const SimulatedRank& rank : simulation.ranks) {
    Json result{{"rank", rank.rank},
                {"alike", rank.alike},
                {"communication_seconds", rank.communication_seconds},
                {"peak_bytes", rank.peak_bytes}};
    for (const TimePart& part : kTimeParts)
      if (part.scope == TimeScope::Program) result[part.key] = rank.times.*part.seconds;
    json["results"].push_back(std::move(result));
  }
  return json;
}

void print_result(const SimulateCommand& command, const Config& config, const Cluster& cluster,
                  const RunFacts& facts, const Simulation& simulation) {
  const int ranks = facts.ranks;
  fmt::print("{}, batch {} x {}, {}, mesh {}: {} rank{} on {}\n", model_title(config),
             config.train.batch, config.train.seq, config.train.precision, facts.mesh, ranks,
             ranks == 1 ? "" : "s", cluster.name);
  if (!command.unit_cost.empty())
    fmt::print("unit cost {}: seconds below are time units; everything else is free\n",
               command.unit_cost);
  else if (!cluster.calibrated)
    fmt::print("cluster {} was never calibrated: its figures are published or assumed\n",
               cluster.name);
  fmt::print("step_seconds                   {:.6g}\n", simulation.step_seconds);
  const OtherUtilisation other = other_utilisation(facts, simulation);
  if (command.unit_cost.empty())
    fmt::print(
        "mfu                            {} ({} with full attention counted)\n"
        "hfu                            {} (all flops that the programs run)\n",
        share_text(simulation.mfu), share_text(other.mfu_full), share_text(other.hfu));
  fmt::print("exposed_communication_seconds  {:.6g}\n",
             simulation.times.exposed_communication_seconds);
  fmt::print("bubble_seconds                 {:.6g}\n", simulation.times.bubble_seconds);
  fmt::print("peak_bytes                     {} ({}), {} {}\n", simulation.peak_bytes,
             short_bytes(simulation.peak_bytes),
             fits(cluster, simulation, ranks) ? "fits" : "does not fit", cluster.device.name);
  fmt::print("\n{:>6} {:>6} {:>12} {:>12} {:>12} {:>14} {:>12}\n", "rank", "ranks", "compute s",
             "exposed s", "bubble s", "all transfers", "peak bytes");
  for (const SimulatedRank& rank : simulation.ranks)
    fmt::print("{:>6} {:>6} {:>12.6g} {:>12.6g} {:>12.6g} {:>14.6g} {:>12}\n", rank.rank,
               rank.alike, rank.times.compute_seconds, rank.times.exposed_communication_seconds,
               rank.times.bubble_seconds, rank.communication_seconds, short_bytes(rank.peak_bytes));
}

// The cost of a schedule alone is the same on every cluster.
Cluster cluster_of(const SimulateCommand& command) {
  if (command.cluster.empty() && !command.unit_cost.empty()) return load_cluster("laptop");
  return chosen_cluster(command.cluster, Mesh(command.run.load().mesh).num_ranks());
}

void run(SimulateCommand& command) {
  const Cluster cluster = cluster_of(command);
  default_to_precision_of(cluster, command.run);
  const Config config = command.run.load_with_notes();
  RunSpec spec = resolve_on(cluster, config);
  spec.memory_bytes = memory_to_fit(spec, cluster);
  const SimulateOptions options{.unit_cost = unit_cost_of(command.unit_cost),
                                .model_flops = flops_per_token(spec.model, spec.seq()).causal *
                                               static_cast<double>(spec.tokens_per_step()),
                                .precision = spec.precision,
                                .keep_slices = !command.trace.empty(),
                                .load = load_of(command.load)};
  if (!options.unit_cost) {
    print_warnings(unlikely_figures(cluster));
    print_warnings(near_axes_across_nodes(cluster, Mesh(config.mesh)));
    if (spec.model.experts > 0) print_warnings(experts_across_nodes(cluster, spec.plan));
  }
  const Compiled compiled = compile(spec);
  const Simulation simulation = simulate(compiled.programs, cluster, options);
  const RunFacts facts = simulated_facts(config, spec, compiled, cluster, simulation);
  if (!command.trace.empty())
    write_file_atomically(command.trace, to_trace_json(compiled.programs, simulation));
  if (!command.out.empty()) record_simulation(command.out, config, facts, cluster, simulation);
  const PoolRoom room = pool_room_of(compiled.programs);
  if (command.run.json) {
    Json json = to_json(config, cluster, facts, simulation);
    if (room.rows > 0) json["expert_pools"] = to_json(room);
    print_json(json);
    return;
  }
  print_result(command, config, cluster, facts, simulation);
  if (room.rows > 0) fmt::print("\n{}\n", to_string(room));
}

}  // namespace

void add_simulate_command(Command app) {
  auto command = std::make_shared<SimulateCommand>();
  const Command simulate =
      app.add_subcommand("simulate", "predict how long a training step takes on a cluster");
  simulate.footer(kFooter);
  add_run_options(simulate, command->run);
  add_step_forms(simulate, command->run);
  add_cluster_option(simulate, command->cluster);
  const Option unit_cost = simulate
                               .add_option("--unit-cost", command->unit_cost,
                                           "seconds of a microbatch's forward, input gradient and "
                                           "weight gradient on a rank; everything else is free")
                               .type_name("F,B,W");
  simulate
      .add_option("--load", command->load,
                  "how unevenly tokens choose experts: uniform, worst, lognormal:S, or "
                  "measured:FOLDER of a run")
      .type_name("LOAD");
  simulate.add_option("--trace", command->trace, "write the step as a trace (docs/trace.md)")
      .type_name("FILE");
  simulate
      .add_option("--out", command->out, "write a record of the step, for `tessera report FOLDER`")
      .type_name("FOLDER")
      .excludes(unit_cost);
  simulate.on_run([command] { run(*command); });
}

}  // namespace tessera
