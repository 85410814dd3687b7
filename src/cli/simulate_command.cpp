// SPDX-License-Identifier: Apache-2.0
// tessera simulate: how long a training step would take on a cluster, without running it.
#include <algorithm>
#include <charconv>
#include <memory>

#include "cli/cluster_option.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "config/island_config.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "program/pool_room.h"
#include "record/run_record.h"
#include "report/record_simulation.h"
#include "sim/error_bar.h"
#include "studio/pictures/pictures.h"
#include "studio/run_on_cluster.h"
#include "studio/simulated_islands.h"
#include "studio/simulated_step.h"

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
    "  tessera simulate --cluster dgx-h100 --model llama3-8b --mesh tp=8 --batch 8 --svg block.svg "
    "\\\n"
    "    --picture block\n"
    "  tessera simulate --cluster three-sites --model llama3-8b --mesh island=3,fsdp=32 \\\n"
    "    --batch 768 --seq 8192 --islands-every 10,30,100,500\n"
    "  tessera simulate --unit-cost 1,1,1 --microbatches 4        the cost of a schedule alone";

struct SimulateCommand {
  RunOptions run;
  std::string cluster, unit_cost, trace, svg, picture = "step", out;
  std::string load = "uniform", copies = "expert";
  double eager_seconds = 0, repeats = 0, extra_passes = 0;
  bool cool = false, split_sends = false, late_sums = false, blocking_sends = false;
  bool steps_drift = false;
  std::string loss = "tessera";
  std::string layer = "tessera";
  std::vector<int64_t> islands_every;
  OtherAttention attention;
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

void print_result(const SimulateCommand& command, const SimulatedStep& step) {
  const Simulation& simulation = step.simulation;
  fmt::print("{}\n", title_of(step));
  if (!command.unit_cost.empty())
    fmt::print("unit cost {}: seconds below are time units; everything else is free\n",
               command.unit_cost);
  else
    print_trust(step.cluster);
  if (command.unit_cost.empty() && step.cluster.device.cores == 0)
    fmt::print("{}\n", error_bar_text(step.cluster, step.spec.plan.mesh));
  fmt::print("step_seconds                   {:.6g}\n", simulation.step_seconds);
  const OtherUtilisation other = other_utilisation(step);
  if (command.unit_cost.empty())
    fmt::print(
        "mfu                            {} ({} with full attention counted)\n"
        "hfu                            {} (all flops that the programs run)\n",
        share_text(simulation.mfu), share_text(other.mfu_full), share_text(other.hfu));
  fmt::print("exposed_communication_seconds  {:.6g}\n",
             simulation.times.exposed_communication_seconds);
  fmt::print("bubble_seconds                 {:.6g}\n", simulation.times.bubble_seconds);
  fmt::print("peak_bytes                     {} ({}), {} {}\n", simulation.peak_bytes,
             short_bytes(simulation.peak_bytes), step.fits() ? "fits" : "does not fit",
             step.cluster.device.name);
  if (simulation.host_bytes > 0)
    fmt::print("host_bytes                     {} ({}) of each rank\n", simulation.host_bytes,
               short_bytes(simulation.host_bytes));
  fmt::print("\n{:>6} {:>6} {:>12} {:>12} {:>12} {:>14} {:>12}\n", "rank", "ranks", "compute s",
             "exposed s", "bubble s", "all transfers", "peak bytes");
  for (const SimulatedRank& rank : simulation.ranks)
    fmt::print("{:>6} {:>6} {:>12.6g} {:>12.6g} {:>12.6g} {:>14.6g} {:>12}\n", rank.rank,
               rank.alike, rank.times.compute_seconds, rank.times.exposed_communication_seconds,
               rank.times.bubble_seconds, rank.communication_seconds, short_bytes(rank.peak_bytes));
  if (const auto unknowns = unknowns_of(step); !unknowns.empty()) {
    fmt::print("\n");
    print_unknowns(unknowns);
  }
}

// The cost of a schedule alone is the same on every cluster.
Cluster cluster_of(const SimulateCommand& command) {
  if (command.cluster.empty() && !command.unit_cost.empty()) return load_cluster("laptop");
  return chosen_cluster(command.cluster, Mesh(command.run.load().mesh).num_ranks());
}

std::string drawn(const SimulatedStep& step, const std::string& picture) {
  return std::ranges::find(kPictures, picture, &PictureRow::name)->draw(step);
}

std::vector<std::string> picture_names() {
  std::vector<std::string> names;
  for (const PictureRow& row : kPictures) names.emplace_back(row.name);
  return names;
}

void require_islands(const SimulateCommand& command, const Config& config) {
  if (command.islands_every.empty() || islands_of(config) > 1) return;
  throw user_error("--islands-every is about islands, but the mesh has none")
      .at("--islands-every")
      .help("add them to the mesh, such as --mesh island=3,fsdp=32");
}

void run(SimulateCommand& command) {
  const Cluster cluster = cluster_of(command);
  default_to_precision_of(cluster, command.run);
  const Config all = command.run.load_with_notes(), config = one_island(all);
  require_islands(command, all);
  const RunSpec spec = spec_to_simulate(cluster, config);
  const StepOptions options{
      .keep_slices = !command.trace.empty() || !command.svg.empty(),
      .unit_cost = unit_cost_of(command.unit_cost),
      .load = load_of(command.load),
      .copies = command.copies == "node" ? RowCopies::PerNode : RowCopies::PerExpert,
      .cool = command.cool,
      .attention = command.attention,
      .loss = find_other_loss(command.loss),
      .layer = find_other_layer(command.layer),
      .steps_drift = command.steps_drift,
      .late_sums = command.late_sums,
      .blocking_sends = command.blocking_sends,
      .split_sends = command.split_sends,
      .repeats = command.repeats,
      .extra_passes = command.extra_passes,
      .eager_seconds = command.eager_seconds};
  if (!options.unit_cost) print_warnings(warnings_on(cluster, spec, config));
  SimulatedStep step = simulate_step(config, cluster, spec, options);
  step.islands = islands_of(all) > 1;
  if (!command.trace.empty())
    write_file_atomically(command.trace, to_trace_json(step.compiled.programs, step.simulation));
  if (!command.svg.empty()) write_file_atomically(command.svg, drawn(step, command.picture));
  if (!command.out.empty())
    record_simulation(command.out, config,
                      simulated_facts(config, spec, step.compiled, cluster, step.simulation),
                      cluster, step.simulation);
  std::optional<SimulatedIslands> islands;
  if (islands_of(all) > 1) islands = simulate_islands(all, step, command.islands_every, options);
  if (command.run.json) {
    Json json = to_json(step);
    if (islands) json["islands"] = to_json(*islands);
    print_json(json);
    return;
  }
  print_result(command, step);
  if (islands) fmt::print("\n{}", to_text(*islands));
  if (const PoolRoom room = pool_room_of(step.compiled.programs); room.rows > 0)
    fmt::print("\n{}\n", to_string(room));
}

// What other programs do and Tessera does not.
void add_other_program_options(Command simulate, SimulateCommand& command) {
  simulate
      .add_option("--row-copies", command.copies,
                  "copies of a token that plan.dispatch=exchange sends: one for each expert, as "
                  "Tessera does, or one to each node, as DeepEP does")
      .choices({"expert", "node"})
      .show_default();
  simulate
      .add_option("--eager", command.eager_seconds,
                  "seconds that a host takes to launch each kernel, in frameworks that launch them "
                  "one by one and wait for the counts of experts; 0: one captured graph")
      .range(0.0, 1.0)
      .type_name("SECONDS");
  simulate
      .add_option("--attention", command.attention.kernel,
                  "how another program computes attention: unfused (scores in memory), or a kernel "
                  "that the cluster file names")
      .type_name("KERNEL");
  simulate.add_flag("--dropout", command.attention.dropout,
                    "of scores, where attention is unfused, and of the stream (in memory alone)");
  simulate
      .add_option("--loss", command.loss,
                  "how another program computes the loss: with logits in memory, by the kernels of "
                  "megatron or pytorch one after the other, or joined by a compiler")
      .choices(other_loss_names())
      .show_default();
  simulate
      .add_option(
          "--layer", command.layer,
          "whose kernels lie between the products of a layer: megatron reads and writes the "
          "stream where ours are fused, and has one product for queries, keys and values")
      .choices(other_layer_names())
      .show_default();
  simulate.add_flag("--drift", command.steps_drift,
                    "the sums of norms and metrics that end a step hold no stage up, as where "
                    "an optimizer is validated after it (zero bubble)");
  simulate.add_flag("--late-sums", command.late_sums,
                    "gradients are summed over ranks after a stage's last backward, not beside it, "
                    "as in Megatron before 2023");
  simulate.add_flag("--blocking-sends", command.blocking_sends,
                    "a stage waits until what it sends has left, as in Megatron's schedules; those "
                    "that split the backward (zb_*) do not");
  simulate.add_flag("--split-sends", command.split_sends,
                    "between stages, ranks along tp send a part of the stream each and gather it, "
                    "as Megatron does");
  simulate
      .add_option("--repeats", command.repeats,
                  "of the forward that our recomputation leaves out, because it is kept or no "
                  "gradient reads it, the share that another program repeats: 1 for whole blocks, "
                  "0.5 for every second product")
      .range(0.0, 1.0)
      .type_name("SHARE");
  simulate
      .add_option("--passes", command.extra_passes,
                  "how often another program reads and writes each kernel's results once more, by "
                  "kernels that are part of ours")
      .range(0.0, 100.0)
      .type_name("N");
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
  add_other_program_options(simulate, *command);
  simulate.add_flag("--cool", command->cool,
                    "devices that have not warmed up, as in a benchmark of tenths of a second");
  simulate
      .add_option("--islands-every", command->islands_every,
                  "tokens per second of islands that exchange every that many steps, whole and "
                  "streamed, exact and in 8 bits: 10,100,500")
      .delimiter(',')
      .range(int64_t{1}, int64_t{1} << 30)
      .type_name("STEPS");
  simulate.add_option("--trace", command->trace, "write the step as a trace (docs/trace.md)")
      .type_name("FILE");
  const Option svg =
      simulate.add_option("--svg", command->svg, "write a picture of the step").type_name("FILE");
  simulate
      .add_option("--picture", command->picture,
                  "of --svg: the step; a block, kernel by kernel; memory over time; ranks in their "
                  "nodes; bytes by kind and collective")
      .choices(picture_names())
      .show_default()
      .needs(svg);
  simulate
      .add_option("--out", command->out, "write a record of the step, for `tessera report FOLDER`")
      .type_name("FOLDER")
      .excludes(unit_cost);
  simulate.on_run([command] { run(*command); });
}

}  // namespace tessera
