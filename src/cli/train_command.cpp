// SPDX-License-Identifier: Apache-2.0
// tessera train: trains the model that a config describes, and says how it went.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "comm/mpi/mpi_process.h"
#include "train/loss_plot.h"
#include "train/trainer.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera train                                   the tiny model on built-in stories, into "
    "out/\n"
    "  tessera train --model tiny --steps 300 --save-every 100 --out out/tiny\n"
    "  tessera train --resume --out out/tiny           go on from the newest checkpoint\n"
    "  tessera train --set data.path=books/ --set train.seq=256\n"
    "  tessera train my.toml --set train.learning_rate=1e-3\n"
    "  tessera train --mesh dp=2,tp=2                  four ranks as threads of this process\n"
    "  tessera train --mesh cp=2 --steps 3 --trace ring.json   and open it in ui.perfetto.dev\n"
    "  mpirun -np 4 tessera train --mesh dp=2,tp=2     four ranks as processes over MPI\n"
    "Keys for files and --set: tessera docs config";

struct TrainCommand {
  RunOptions run;
  bool resume = false, overwrite = false;
};

nlohmann::json to_json(const TrainSummary& summary) {
  nlohmann::json json{
      {"first_step", summary.first_step},
      {"steps", summary.steps},
      {"parameters", summary.parameters},
      {"first_loss", summary.first_loss},
      {"loss", summary.last_loss},
      {"seconds", summary.seconds},
      {"tokens_per_second", summary.tokens_per_second},
      {"mfu", summary.mfu},
      {"mfu_full_attention", summary.mfu_full},
      {"hfu", summary.hfu},
      {"compute_seconds", summary.split.compute_seconds},
      {"exposed_communication_seconds", summary.split.exposed_communication_seconds},
      {"bubble_seconds", summary.split.bubble_seconds},
      {"data_seconds", summary.data_seconds},
      {"flops_per_token", summary.flops_per_token.causal},
      {"peak_flops_per_second", summary.peak_flops_per_second},
      {"peak_bytes", summary.planned_bytes},
      {"resident_bytes", summary.resident_bytes},
      {"out", summary.out.string()}};
  if (summary.held_out_loss) json["held_out_loss"] = *summary.held_out_loss;
  if (!summary.trace.empty()) json["trace"] = summary.trace;
  if (summary.checkpoint) json["checkpoint"] = summary.checkpoint->string();
  if (!summary.stopped_by.empty()) json["stopped_by"] = summary.stopped_by;
  if (!summary.warnings.empty()) json["warnings"] = summary.warnings;
  return json;
}

std::string_view peak_origin(const TrainSummary& summary) {
  if (!summary.peak_measured) return "as given";
  return summary.mfu > 1 ? "measured by a matmul, but on a busy machine: too low"
                         : "measured by a matmul";
}

void print_summary(const TrainSummary& summary) {
  fmt::print("\n{}\n", text_plot(summary.losses, summary.first_step + 1));
  if (!summary.stopped_by.empty())
    fmt::print("stopped by {} after step {}{}\n", summary.stopped_by, summary.steps,
               summary.checkpoint ? "" : "; nothing was saved (saving is off: see --save-every)");
  fmt::print("steps {} to {}: loss {:.4f} -> {:.4f}{}\n", summary.first_step, summary.steps,
             summary.first_loss, summary.last_loss,
             summary.held_out_loss ? fmt::format(", held-out {:.4f}", *summary.held_out_loss) : "");
  fmt::print("{:.2f}M parameters, {:.1f} s, {:.0f} tokens/s\n",
             static_cast<double>(summary.parameters) / 1e6, summary.seconds,
             summary.tokens_per_second);
  fmt::print(
      "MFU {:.1f} % ({:.3g} flops per token: 6 x matmul parameters + causal attention) of {:.1f} "
      "GFLOP/s ({}); {:.1f} % with full attention counted; HFU {:.1f} %, of all flops run\n",
      100 * summary.mfu, summary.flops_per_token.causal, summary.peak_flops_per_second / 1e9,
      peak_origin(summary), 100 * summary.mfu_full, 100 * summary.hfu);
  fmt::print("memory: {} planned, {} resident at most\n", short_bytes(summary.planned_bytes),
             short_bytes(summary.resident_bytes));
  fmt::print("outputs: {0}/metrics.jsonl, {0}/config.toml{1}\n", summary.out.string(),
             summary.checkpoint ? ", " + summary.checkpoint->string() : "");
  fmt::print("what the time went to, and what to try: tessera report {}\n", summary.out.string());
  if (!summary.trace.empty())
    fmt::print("trace: {} (open it in https://ui.perfetto.dev)\n", summary.trace);
}

// As all ranks of the mesh, or, in a job, as one of them.
void train(const TrainCommand& command, RankWorld* world) {
  Config config = command.run.load();
  if (world && config.mesh.empty()) config.mesh = {{"dp", world->size()}};
  Trainer trainer(std::move(config), {.resume = command.resume,
                                      .overwrite = command.overwrite,
                                      .quiet = command.run.json,
                                      .world = world});
  const TrainSummary summary = trainer.run();
  if (world && world->rank() != 0) return;
  if (command.run.json)
    fmt::print("{}\n", to_json(summary).dump());
  else
    print_summary(summary);
}

void run(const TrainCommand& command) {
  if (launched_by_mpi())
    run_mpi_rank([&](RankWorld& world) { train(command, &world); });
  else
    train(command, nullptr);
}

}  // namespace

void add_train_command(CLI::App& app) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* train = app.add_subcommand("train", "train a model");
  train->footer(kFooter);
  add_run_options(*train, command->run);
  add_short_form(*train, command->run, "--steps", "train.steps", "steps to train in all");
  add_short_form(*train, command->run, "--out", "run.out",
                 "folder for metrics, config and checkpoints");
  add_short_form(*train, command->run, "--device", "run.device",
                 "where to run: cpu; cuda in a build that has it");
  add_short_form(*train, command->run, "--save-every", "train.save_every",
                 "save a checkpoint every N steps and at the end");
  add_short_form(*train, command->run, "--trace", "run.trace",
                 "write a trace of the first steps, for ui.perfetto.dev");
  train->add_flag("--resume", command->resume,
                  "go on from the newest checkpoint of the output folder");
  train->add_flag("--overwrite", command->overwrite, "replace an old run in the output folder");
  train->callback([command] { run(*command); });
}

}  // namespace tessera
