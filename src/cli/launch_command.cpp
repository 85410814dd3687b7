// SPDX-License-Identifier: Apache-2.0
// tessera launch: a training job under mpirun or srun, restarted when it fails.
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/job_attempt.h"
#include "cli/submitted_job.h"
#include "cli/train_options.h"
#include "core/error.h"
#include "system/shell_words.h"

namespace tessera {
namespace {

constexpr const char* kHowToGetALauncher =
    "install Open MPI (on Debian: apt-get install openmpi-bin), load your cluster's module, or "
    "name another one: --with /path/to/mpirun. On one machine, train --supervise needs no "
    "launcher";
constexpr const char* kFooter =
    "Examples:\n"
    "  tessera launch train --mesh dp=2,tp=2 --save-every 50 --out out/job\n"
    "  tessera launch --with \"mpirun --hostfile hosts\" train --mesh dp=16 --save-every 50\n"
    "  tessera launch train --mesh dp=16 --save-every 50 --least-ranks 8   elastic: "
    "docs/elastic.md\n"
    "In a Slurm job it uses srun, elsewhere mpirun.\n"
    "  tessera launch --sbatch --cluster dgx-h100 train --model llama3-8b --batch 512 --steps "
    "20000\n"
    "writes a Slurm job for as many nodes as pay, and submits it (docs/jobs.md).";

struct LaunchCommand {
  std::optional<std::string> with;
  RestartOptions restarts;
  JobOptions job;
  std::string job_plan;  // of the attempt of a job that this is
};

// The program that starts the ranks, and its options.
std::vector<std::string> launcher_of(const LaunchCommand& command) {
  const bool in_slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  const std::string with = !command.with ? (in_slurm ? "srun" : "mpirun") : *command.with;
  std::vector<std::string> words = shell_words(with, "--with");
  if (words.empty() || words.front().empty())
    throw user_error("--with is empty").help("--with \"mpirun --hostfile hosts\"");
  if (!find_program(words.front()))
    throw user_error("cannot find the program {} to start the ranks", words.front())
        .help(words.front() == "mpirun" || words.front() == "srun"
                  ? kHowToGetALauncher
                  : "write its path, or add its folder to PATH");
  return words;
}

// train has them for --supervise alone.
void check_own_options(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    for (const std::string_view own : kRestartOptions)
      if (word.substr(0, word.find('=')) == own)
        throw user_error("{} is an option of launch, but is given after train", own)
            .help(fmt::format("write it before train: tessera launch {} N train ...", own));
}

void launch(const LaunchCommand& command, std::vector<std::string> words) {
  if (words.empty() || words.front() != "train")
    throw user_error("launch can only start train, but was given {}",
                     words.empty() ? "nothing" : words.front())
        .help("tessera launch train --mesh dp=2 --save-every 50");
  words.erase(words.begin());
  check_own_options(words);
  TrainOptions options;
  CommandLine line("tessera train", "train a model");
  add_train_options(line.root(), options);
  if (!line.run(words)) return;  // help was requested
  if (options.supervise || options.processes)
    throw user_error("launch supervises the job itself").help("leave out --supervise, --processes");
  if (command.job.asked) return submit_job(command.job, options, words);
  if (!command.job_plan.empty())
    return run_attempt({.plan = command.job_plan,
                        .launcher = launcher_of(command),
                        .words = std::move(words),
                        .options = options,
                        .restarts = command.restarts});
  const auto around = [](std::vector<std::string> all, int ranks, std::vector<std::string> train) {
    // Unlike mpirun, srun leaves the other ranks waiting for one that has died.
    if (all.front().ends_with("srun"))
      all.insert(all.end(), {"--kill-on-bad-exit=1", "-n"});
    else
      all.emplace_back("-np");
    all.insert(all.end(), {std::to_string(ranks), own_path(), "train"});
    all.insert(all.end(), train.begin(), train.end());
    return all;
  };
  // mpirun reacts to SIGTERM by ending the ranks; it forwards SIGUSR2.
  supervise_run({.config = options.run.load(),
                 .words = std::move(words),
                 .launcher = launcher_of(command),
                 .command = around,
                 .options = command.restarts,
                 .stop_signal = SIGUSR2});
}

}  // namespace

void add_launch_command(Command app) {
  auto command = std::make_shared<LaunchCommand>();
  const Command launch_app =
      app.add_subcommand("launch", "train under mpirun or srun, with restarts after failures");
  launch_app.footer(kFooter);
  launch_app.add_option("--with", command->with, "mpirun or srun, with its options")
      .type_name("COMMAND");
  add_restart_options(launch_app, command->restarts, "");
  add_job_options(launch_app, command->job);
  launch_app
      .add_option("--job", command->job_plan,
                  "the plan of the job whose attempt this is; written by --sbatch")
      .type_name("FILE");
  launch_app.keep_rest();
  launch_app.on_run([command, launch_app] { launch(*command, launch_app.rest()); });
}

}  // namespace tessera
