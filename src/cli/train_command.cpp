// SPDX-License-Identifier: Apache-2.0
// tessera train: trains the model of a config, and prints a summary.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>

#include "checkpoint/run_identity.h"
#include "cli/commands.h"
#include "cli/island_job.h"
#include "cli/line_printer.h"
#include "cli/progress_bar.h"
#include "cli/train_options.h"
#include "comm/local/local_report.h"
#include "comm/local/run_ranks.h"
#include "comm/mpi/mpi_process.h"
#include "config/island_config.h"
#include "core/quantities.h"
#include "files/json.h"
#include "inference/stored_model.h"
#include "record/loss_plot.h"
#include "system/stop_signal.h"
#include "system/this_machine.h"
#include "train/continued_config.h"
#include "train/island_training.h"
#include "train/launch_fingerprint.h"
#include "train/resume_changes.h"
#include "train/trainer.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera train                                   the tiny model on built-in stories, into "
    "out/\n"
    "  tessera train --model tiny --steps 300 --save-every 100 --out out/tiny\n"
    "  tessera train --resume --out out/tiny           resume from the newest checkpoint\n"
    "  tessera train --set data.path=books/ --seq 256 --batch 8\n"
    "  tessera train my.toml --set train.learning_rate=1e-3\n"
    "  tessera train --mesh dp=2,tp=2                  four ranks as threads of this process\n"
    "  tessera train --mesh cp=2 --steps 3 --trace ring.json   and open it in ui.perfetto.dev\n"
    "  mpirun -np 4 tessera train --mesh dp=2,tp=2     four ranks as processes over MPI\n"
    "  tessera train --save-every 100 --supervise      after a crash, resume from the newest "
    "checkpoint\n"
    "  tessera train --init-from out/tiny --set data.path=books/ --seq 512 --out "
    "out/more\n"
    "  tessera train --json-lines --metrics-port 9464  lines of JSON, and a page for Prometheus\n"
    "Ctrl-C or SIGTERM: it finishes the step, saves and ends with exit code 7; a run that is done "
    "ends with 0.\n"
    "Keys for files and --set: tessera docs config";

void print_no_step(const TrainSummary& summary) {
  if (!summary.stopped_by.empty())
    fmt::print("stopped by {} after step {}; there was nothing new to save\n", summary.stopped_by,
               summary.steps);
  else
    fmt::print("{} is already at step {}: nothing to do; --steps N continues to step N\n",
               summary.out.string(), summary.steps);
}

void print_summary(const TrainSummary& summary) {
  if (summary.losses.empty()) return print_no_step(summary);
  constexpr size_t kPlotted = 10;  // for fewer steps the lines above are enough
  if (summary.losses.size() >= kPlotted)
    fmt::print("\n{}\n", text_plot(summary.losses, summary.first_step + 1));
  if (const std::string samples = beside_each_other(summary.samples); !samples.empty())
    fmt::print("samples of its text:\n\n{}\n", samples);
  if (!summary.stopped_by.empty())
    fmt::print("stopped by {} after step {}{}\n", summary.stopped_by, summary.steps,
               summary.checkpoint ? "" : "; nothing was saved (saving is off: see --save-every)");
  fmt::print("steps {} to {}: loss {:.4f} -> {:.4f}{}\n", summary.first_step, summary.steps,
             summary.first_loss, summary.last_loss,
             summary.held_out_loss ? fmt::format(", held-out {:.4f}", *summary.held_out_loss) : "");
  fmt::print("{:.2f}M parameters, {:.1f} s, {:.0f} tokens/s\n",
             static_cast<double>(summary.parameters) / 1e6, summary.seconds,
             summary.tokens_per_second);
  fmt::print("MFU {:.1f} % of {:.1f} GFLOP/s ({})\n", 100 * summary.mfu,
             summary.peak_flops_per_second / 1e9,
             summary.peak_arithmetic.empty()
                 ? "run.peak_gflops"
                 : fmt::format("the machine's peak, measured with a matmul in {}",
                               summary.peak_arithmetic));
  if (summary.raised_peak_flops_per_second > 0)
    fmt::print(
        "a step was faster than that peak, which was measured too low: this MFU is too high, and "
        "later runs use {:.1f} GFLOP/s\n",
        summary.raised_peak_flops_per_second / 1e9);
  fmt::print("memory: {} planned, {} resident at most\n", short_bytes(summary.planned_bytes),
             short_bytes(summary.resident_bytes));
  if (summary.saves > 0)
    fmt::print(
        "{} checkpoint{} of {}{}: each stalls training for {:.3f} s and is written in the "
        "background in {:.3f} s\n",
        summary.saves, summary.saves == 1 ? "" : "s", short_bytes(summary.save_bytes),
        summary.failed_saves > 0 ? fmt::format(", {} of them FAILED", summary.failed_saves) : "",
        summary.save_stall_seconds, summary.save_written_seconds);
  fmt::print("outputs: {0}/metrics.jsonl, {0}/config.toml{1}\n", summary.out.string(),
             summary.checkpoint ? ", " + summary.checkpoint->string() : "");
  fmt::print("where the time went, and what to try: tessera report {}\n", summary.out.string());
  if (!summary.trace.empty())
    fmt::print("trace: {} (open it in https://ui.perfetto.dev)\n", summary.trace);
}

LineSink line_sink(LinePrinter& printer) {
  return [&printer](const std::string& line) { printer.print(line); };
}

// The last line of --json-lines: what --json prints.
std::string summary_line(const TrainSummary& summary) {
  const Json all = to_json(summary);
  Json line{{"event", "summary"}};
  for (const JsonMember& member : all.members()) line[member.name] = member.value;
  return line.dump();
}

struct Beginning {
  Config config;
  std::string note;
  std::unique_ptr<StateSource> weights;  // null: random ones
};

// Of adapters that are stored, where their base is now; empty: where they name it.
std::string moved_base(const TrainOptions& options) {
  constexpr std::string_view kKey = "lora.base=";
  std::string base;
  for (const std::string& setting : options.run.all())
    if (setting.starts_with(kKey)) base = setting.substr(kKey.size());
  return base;
}

Beginning beginning_of(const TrainOptions& options) {
  std::unique_ptr<StateSource> stored;
  if (!options.init_from.empty()) {
    stored = open_stored_model(options.init_from, moved_base(options));
  } else {
    Config config = options.run.load();
    if (config.lora.base.empty())
      return {.config = std::move(config), .note = {}, .weights = nullptr};
    stored = open_base(config.lora.base, config.run.out);
  }
  ContinuedConfig continued = continued_config(*stored, options.run.file, options.run.all());
  return {.config = std::move(continued.config),
          .note = std::move(continued.note),
          .weights = std::move(stored)};
}

bool islands_are_threads(const Config& config) {
  return islands_of(config) > 0 && config.islands.hub.empty();
}

void require_one_process(const Config& config) {
  if (islands_are_threads(config))
    throw user_error("mesh {} has islands, which without a hub are threads of one process",
                     to_string(Mesh(config.mesh)))
        .at("mesh.island")
        .help("leave out mpirun, --processes and --supervise, or set islands.hub");
}

// Runs all ranks of the mesh or, in a job, one of them. Returns whether it was stopped before the
// last step.
bool train(const TrainOptions& options, const Beginning& beginning, RankWorld* world) {
  Config config = beginning.config;
  const bool quiet = options.run.json || options.json_lines;
  if (!beginning.note.empty() && !quiet && (!world || world->rank() == 0))
    fmt::print(stderr, "{}\n", beginning.note);
  if (world && config.mesh.empty()) config.mesh = {{"dp", world->size()}};
  const bool all_islands = islands_are_threads(config);
  if (world) require_one_process(config);
  if (world) require_identical_launch(*world, fingerprint_launch(to_toml(config)));
  std::optional<FaultPlan> faults;
  if (const char* text = std::getenv("TESSERA_FAULT")) faults.emplace(text);
  const auto link = link_of_job(config, !world || world->rank() == 0);
  const IslandRole role{.index = static_cast<int>(config.islands.index),
                        .islands = islands_of(config),
                        .link = link.get()};
  const bool one_of_many = role.islands > 0 && !all_islands;
  if (one_of_many) config = config_of_island(config, role.index);
  ProgressBars bars;
  DataProgress data_progress;
  if (!world || world->rank() == 0)
    data_progress = [&](std::string_view work, int64_t done, int64_t all) {
      bars.show(work, done, all);
    };
  std::optional<LinePrinter> printer;
  if (options.json_lines) printer.emplace();
  const TrainerOptions run{.resume = options.resume,
                           .overwrite = options.overwrite,
                           .run_id = options.run_id,
                           .init_from = beginning.weights.get(),
                           .quiet = quiet,
                           .accepted_changes = options.accepted_changes,
                           .world = world,
                           .faults = faults ? &*faults : nullptr,
                           .island = one_of_many ? &role : nullptr,
                           .data_progress = std::move(data_progress),
                           .lines = printer ? line_sink(*printer) : LineSink()};
  const TrainSummary summary =
      all_islands ? train_islands(config, run) : Trainer(std::move(config), run).run();
  const bool stopped = !summary.stopped_by.empty();
  if (world && world->rank() != 0) return stopped;
  if (printer)
    printer->print(summary_line(summary));
  else if (options.run.json)
    print_json(to_json(summary));
  else
    print_summary(summary);
  if (!summary.save_error.empty())
    throw user_error("the last checkpoint was not saved: {}", summary.save_error)
        .help("free some space and resume from the previous one with --resume");
  return stopped;
}

// Runs the ranks of the mesh as processes on this machine, so that one can die alone.
bool train_as_processes(const TrainOptions& options, const Beginning& beginning) {
  const Config& config = beginning.config;
  require_one_process(config);
  const int ranks = Mesh(one_island(config).mesh).num_ranks();
  if (ranks == 1) return train(options, beginning, nullptr);
  if (!is_host(config.run.device))
    throw user_error("--processes is only for ranks on the CPU, but run.device is {}",
                     name(config.run.device))
        .help("leave it out");
  // Address space: pages are allocated when they are used.
  LocalHub hub({.ranks = ranks,
                .arena_bytes = static_cast<int64_t>(installed_memory_bytes()),
                .deadline_seconds = config.run.deadline_seconds,
                .processes = true});
  auto* stopped = new (hub.allocate(sizeof(std::atomic<bool>))) std::atomic<bool>(false);
  constexpr double kGraceSeconds = 1;  // what is in flight is lost anyway
  run_ranks(
      hub,
      [&](RankWorld& world) {
        if (train(options, beginning, &world)) *stopped = true;
      },
      kGraceSeconds, [&] { write_failure_report(hub, config.run.out); });
  return *stopped;
}

void train_as_mpi_rank(const TrainOptions& options, const Beginning& beginning) {
  const RunConfig& run = beginning.config.run;
  run_mpi_rank([&](RankWorld& world) { train(options, beginning, &world); },
               {.deadline_seconds = run.deadline_seconds,
                .run_folder = run.out,
                .told_to_end = StopSignal::told_to_end});
}

// The words after `tessera train` that this process was started with.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.erase(words.begin(), std::find(words.begin(), words.end(), "train") + 1);
  return words;
}

// Runs this command as a child: first as it was given, then resuming from its checkpoints.
void supervise_training(const TrainOptions& options) {
  if (launched_by_mpi())
    throw user_error("--supervise is only for ranks on this machine, not for those of mpirun")
        .help("tessera launch train ... starts and supervises mpirun");
  require_one_process(options.run.load());
  SupervisedRun run{.config = options.run.load(),
                    .words = own_words(),
                    .launcher = {},
                    .command = {},
                    .options = options.restarts};
  std::erase(run.words, "--supervise");
  std::erase(run.words, "--processes");
  if (is_host(run.config.run.device)) run.words.emplace_back("--processes");
  run.command = [](const std::vector<std::string>&, int, std::vector<std::string> words) {
    words.insert(words.begin(), {own_path(), "train"});
    return words;
  };
  supervise_run(run);
}

void run(const TrainOptions& options) {
  check_accepted_names(options.accepted_changes);
  if (!options.run_id.empty() && !is_run_id(options.run_id))
    throw user_error("--run-id {} is not 16 hexadecimal digits", options.run_id)
        .help("leave it out: a run draws a random id");
  if (options.json_lines && options.run.json)
    throw UserError("--json prints one object at the end, and --json-lines a line for each step")
        .help("give one of them");
  if (options.supervise) return supervise_training(options);
  // From the very start, when there is nothing to save, to the very end, when a rank that receives
  // SIGTERM has to write its failure report.
  const StopSignal signals;
  const Beginning beginning = beginning_of(options);
  // A launcher kills the other ranks when one ends with anything but 0; and a supervisor, which
  // gives the run its id, says itself what has become of the run.
  if (launched_by_mpi()) return train_as_mpi_rank(options, beginning);
  const bool stopped = options.processes ? train_as_processes(options, beginning)
                                         : train(options, beginning, nullptr);
  if (stopped && options.run_id.empty()) throw ExitStatus(kStoppedExitStatus);
}

}  // namespace

void add_train_command(Command app) {
  auto options = std::make_shared<TrainOptions>();
  const Command train = app.add_subcommand("train", "train a model");
  train.footer(kFooter);
  add_train_options(train, *options);
  train.on_run([options] { run(*options); });
}

}  // namespace tessera
