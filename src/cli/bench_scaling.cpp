// SPDX-License-Identifier: Apache-2.0
// tessera bench scaling: measured and ideal speed-up of a training step on several meshes.
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "comm/mpi/mpi_process.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/json.h"
#include "measure/scaling_bench.h"
#include "mesh/plan.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "The batch is the same on every mesh, over all its ranks; the ranks are threads of this\n"
    "process and share --threads evenly, at least one each. ratio = speed over that of one rank\n"
    "with all the threads: 1 would be a mesh without any cost. speed-up = speed over that of\n"
    "one rank with as many threads as a rank of the mesh; ideal = the smaller of ranks and\n"
    "--threads / threads per rank; efficiency = speed-up / ideal. All meshes are measured in\n"
    "turns after a warm-up; ratios are taken within a round, and each number is a median over\n"
    "rounds. bytes per rank are planned bytes. With --device cuda all ranks share one GPU: a\n"
    "mesh cannot be faster than one rank, and the ratio says what it costs. For a GPU of each\n"
    "rank's own: tools/several_gpus.py.\n"
    "Examples:\n"
    "  tessera bench scaling --model gpt2-124m --batch 4 --seq 256\n"
    "  tessera bench scaling --model gpt2-124m --batch 4 --seq 256 --meshes \"dp=2;tp=2;cp=2\"\n"
    "  tessera bench scaling --batch 8 --meshes \"fsdp=2;fsdp=4\" --json\n"
    "  tessera bench scaling --device cuda --model gpt2-124m --batch 16 --seq 1024 --precision "
    "bf16";

struct BenchScaling {
  RunOptions run;
  std::string meshes;
  int steps = 0, rounds = 2;
};

// "1;dp=2;dp=2,tp=2": one rank is always measured, so "1" adds nothing.
std::vector<std::vector<Axis>> chosen_meshes(const BenchScaling& command, const Config& config) {
  std::vector<std::vector<Axis>> meshes;
  if (!config.mesh.empty()) meshes.push_back(config.mesh);
  std::string_view rest = command.meshes;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(';'), rest.size());
    const std::string_view mesh = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (mesh != "1") meshes.push_back(parse_mesh(mesh));
  }
  return meshes.empty() && command.meshes.empty() ? default_scaling_meshes(config) : meshes;
}

int zero_on(Config config, const Mesh& mesh) {
  config.mesh = mesh.axes();
  return mesh.num_ranks() == 1 ? 0 : resolve_zero(config);
}

Json to_json(const Config& config, const ScalingResult& result) {
  Json json{{"model", preset_name(config)},
            {"batch", config.train.batch},
            {"seq", config.train.seq},
            {"microbatches", config.train.microbatches},
            {"precision", config.train.precision},
            {"device", name(config.run.device)},
            {"threads", result.threads},
            {"tokens", result.tokens}};
  for (const ScalingRow& row : result.rows)
    json["results"].push_back({{"mesh", to_string(row.mesh)},
                               {"ranks", row.ranks()},
                               {"zero", zero_on(config, row.mesh)},
                               {"threads_per_rank", row.threads_per_rank},
                               {"step_seconds", row.step_seconds},
                               {"tokens_per_second", row.tokens_per_second},
                               {"same_threads_ratio", row.same_threads_ratio},
                               {"speed_up", row.speed_up},
                               {"ideal", row.ideal},
                               {"efficiency", row.efficiency},
                               {"bytes_per_rank", row.bytes_per_rank},
                               {"loss", row.loss}});
  return json;
}

void print_table(const Config& config, const ScalingResult& result) {
  fmt::print("# {}, batch {} x {} in all, {}, zero {}, {}\n", preset_name(config),
             config.train.batch, config.train.seq, config.train.precision, config.plan.zero,
             is_host(config.run.device) ? fmt::format("{} threads in all", result.threads)
                                        : "all ranks on one GPU");
  fmt::print("{:<18} {:>6} {:>8} {:>11} {:>7} {:>9} {:>6} {:>11} {:>15}\n", "mesh", "ranks",
             "threads", "tokens/s", "ratio", "speed-up", "ideal", "efficiency", "bytes per rank");
  for (const ScalingRow& row : result.rows)
    fmt::print("{:<18} {:>6} {:>8} {:>11.1f} {:>7.3f} {:>9.3f} {:>6.2f} {:>11.3f} {:>15}\n",
               to_string(row.mesh), row.ranks(), row.threads_per_rank, row.tokens_per_second,
               row.same_threads_ratio, row.speed_up, row.ideal, row.efficiency,
               short_bytes(row.bytes_per_rank));
}

void run(const BenchScaling& command) {
  if (launched_by_mpi())
    throw user_error("bench scaling runs all ranks in one process, but mpirun or srun started it")
        .help(
            "start it without a launcher: tessera bench scaling --meshes \"dp=2;tp=2\"; over "
            "several GPUs, tools/several_gpus.py measures scaling");
  const Config config = command.run.load();
  const ScalingResult result = bench_scaling(
      config, chosen_meshes(command, config),
      {.steps = command.steps, .rounds = command.rounds, .progress = [](std::string_view text) {
         fmt::print(stderr, "{}\n", text);
       }});
  if (command.run.json)
    print_json(to_json(config, result));
  else
    print_table(config, result);
}

}  // namespace

void add_bench_scaling(Command bench) {
  auto command = std::make_shared<BenchScaling>();
  const Command scaling =
      bench.add_subcommand("scaling", "speed-up of a training step on several meshes");
  scaling.footer(kFooter);
  add_run_options(scaling, command->run);
  add_step_forms(scaling, command->run, "samples per step over all ranks");
  add_short_form(scaling, command->run, "--device", "run.device", "where to run, as for train");
  add_short_form(scaling, command->run, "--threads", "train.threads",
                 "threads that the ranks share; 0: all cores");
  scaling
      .add_option(
          "--meshes", command->meshes,
          "meshes separated by semicolons; default: dp = 2, 4, 8 as far as threads and batch allow")
      .type_name("MESHES");
  scaling.add_option("--steps", command->steps, "steps per turn; 0: about five seconds of them")
      .not_negative();
  scaling.add_option("--rounds", command->rounds, "number of rounds over all meshes")
      .positive()
      .show_default();
  scaling.on_run([command] { run(*command); });
}

}  // namespace tessera
