// SPDX-License-Identifier: Apache-2.0
// tessera train: trains the model that a config describes, and says how it went.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "comm/mpi/mpi_process.h"
#include "train/continued_config.h"
#include "train/loss_plot.h"
#include "train/stored_model.h"
#include "train/supervisor.h"
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
    "  tessera train --save-every 100 --supervise      after a crash, on from the newest "
    "checkpoint\n"
    "  tessera train --init-from out/tiny --set data.path=books/ --set train.seq=512 --out "
    "out/more\n"
    "Keys for files and --set: tessera docs config";

struct TrainCommand {
  RunOptions run;
  std::string init_from;
  bool resume = false, overwrite = false, supervise = false;
  int restarts = 10;
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
  if (summary.saves > 0)
    json["checkpoints"] = {{"saves", summary.saves},
                           {"bytes", summary.save_bytes},
                           {"stall_seconds", summary.save_stall_seconds},
                           {"written_seconds", summary.save_written_seconds}};
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
  if (summary.saves > 0)
    fmt::print(
        "{} checkpoint{} of {}: steps stood still {:.3f} s for each, written behind them in {:.3f} "
        "s\n",
        summary.saves, summary.saves == 1 ? "" : "s", short_bytes(summary.save_bytes),
        summary.save_stall_seconds, summary.save_written_seconds);
  fmt::print("outputs: {0}/metrics.jsonl, {0}/config.toml{1}\n", summary.out.string(),
             summary.checkpoint ? ", " + summary.checkpoint->string() : "");
  fmt::print("what the time went to, and what to try: tessera report {}\n", summary.out.string());
  if (!summary.trace.empty())
    fmt::print("trace: {} (open it in https://ui.perfetto.dev)\n", summary.trace);
}

// As all ranks of the mesh, or, in a job, as one of them.
void train(const TrainCommand& command, RankWorld* world) {
  std::unique_ptr<StateSource> first;
  Config config;
  if (command.init_from.empty()) {
    config = command.run.load();
  } else {
    first = open_stored_model(command.init_from);
    ContinuedConfig continued = continued_config(*first, command.run.file, command.run.all());
    config = std::move(continued.config);
    if (!continued.note.empty() && !command.run.json && (!world || world->rank() == 0))
      fmt::print(stderr, "{}\n", continued.note);
  }
  if (world && config.mesh.empty()) config.mesh = {{"dp", world->size()}};
  std::optional<FaultPlan> faults;
  if (const char* text = std::getenv("TESSERA_FAULT")) faults.emplace(text);
  Trainer trainer(std::move(config), {.resume = command.resume,
                                      .overwrite = command.overwrite,
                                      .init_from = first.get(),
                                      .quiet = command.run.json,
                                      .world = world,
                                      .faults = faults ? &*faults : nullptr});
  const TrainSummary summary = trainer.run();
  if (world && world->rank() != 0) return;
  if (command.run.json)
    fmt::print("{}\n", to_json(summary).dump());
  else
    print_summary(summary);
  if (!summary.save_error.empty())
    throw user_error("the last checkpoint was not saved: {}", summary.save_error)
        .help("make room and go on with --resume from the one before");
}

// The words that this process was started with.
std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// This command again, as a child: first as it was given, then from where its checkpoints are.
void supervise_training(const TrainCommand& command) {
  const Config config = command.run.load();
  if (config.checkpoint.every == 0)
    throw user_error(
        "--supervise starts a failed run again from its checkpoints, but none are saved")
        .help("add --save-every N");
  if (launched_by_mpi())
    throw user_error("--supervise is for ranks as threads of one process, not for those of mpirun")
        .help("leave out --supervise, or mpirun");
  const std::filesystem::path checkpoints = checkpoints_of(config.run.out);
  const auto words_of = [&](int start) {
    std::vector<std::string> words = own_command_line();
    words.front() = "/proc/self/exe";
    std::erase(words, "--supervise");
    if (start == 0) return words;
    std::erase(words, "--resume");
    std::erase(words, "--overwrite");
    words.emplace_back(step_folders(checkpoints).empty() ? "--overwrite" : "--resume");
    return words;
  };
  const auto newest_step = [&] {
    const std::vector<StepFolder> steps = step_folders(checkpoints);
    return steps.empty() ? -1 : steps.back().step;
  };
  // A fault on purpose strikes the first start alone, or it would strike for ever.
  const int code = supervise(
      {.command = words_of, .progress = newest_step, .unset_on_restart = {"TESSERA_FAULT"}},
      {.restarts = command.restarts});
  if (code != 0) throw CLI::RuntimeError(code);
}

void run(const TrainCommand& command) {
  if (command.supervise)
    supervise_training(command);
  else if (launched_by_mpi())
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
  add_short_form(*train, command->run, "--save-every", "checkpoint.every",
                 "save a checkpoint every N steps and at the end");
  add_short_form(*train, command->run, "--trace", "run.trace",
                 "write a trace of the first steps, for ui.perfetto.dev");
  train->add_flag("--resume", command->resume,
                  "go on from the newest checkpoint of the output folder that is whole");
  train->add_option("--init-from", command->init_from,
                    "begin with the weights of a checkpoint, a run or a model of Hugging Face's");
  train->add_flag("--overwrite", command->overwrite, "replace an old run in the output folder");
  train->add_flag("--supervise", command->supervise,
                  "start the run again from its newest checkpoint when it crashes");
  train->add_option("--restarts", command->restarts, "with --supervise: at most so many")
      ->check(CLI::Range(0, 1000000));
  train->callback([command] { run(*command); });
}

}  // namespace tessera
