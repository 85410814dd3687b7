// SPDX-License-Identifier: Apache-2.0
// tessera launch: a training job under mpirun or srun, started again when it fails.
#include <csignal>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "cli/commands.h"
#include "cli/train_options.h"
#include "core/error.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  tessera launch train --mesh dp=2,tp=2 --save-every 50 --out out/job\n"
    "  tessera launch --with \"mpirun --hostfile hosts\" train --mesh dp=16 --save-every 50\n"
    "  tessera launch --restarts 100 --least-ranks 8 train --mesh dp=16 --save-every 50\n"
    "In a Slurm job it uses srun, elsewhere mpirun.";

struct LaunchCommand {
  std::string with;
  RestartOptions restarts;
};

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void launch(const LaunchCommand& command, std::vector<std::string> words) {
  if (words.empty() || words.front() != "train")
    throw user_error("launch starts train, and was given {}",
                     words.empty() ? "nothing" : words.front())
        .help("tessera launch train --mesh dp=2 --save-every 50");
  words.erase(words.begin());
  TrainOptions options;
  CommandLine line("tessera train", "train a model");
  add_train_options(line.root(), options);
  if (!line.run(words)) return;  // it was asked for help
  if (options.supervise || options.processes)
    throw user_error("launch supervises the job itself").help("leave out --supervise, --processes");
  std::string with = command.with;
  if (with.empty()) with = std::getenv("SLURM_JOB_ID") ? "srun" : "mpirun";
  const auto around = [launcher = words_in(with)](const Mesh& mesh,
                                                  std::vector<std::string> train) {
    std::vector<std::string> all = launcher;
    // Unlike mpirun, srun leaves the other ranks waiting for one that has died.
    if (launcher.front().ends_with("srun"))
      all.insert(all.end(), {"--kill-on-bad-exit=1", "-n"});
    else
      all.emplace_back("-np");
    all.insert(all.end(), {std::to_string(mesh.num_ranks()), own_path(), "train"});
    all.insert(all.end(), train.begin(), train.end());
    return all;
  };
  // mpirun answers SIGTERM by ending the ranks; SIGUSR2 it hands on.
  supervise_run({.config = options.run.load(),
                 .words = std::move(words),
                 .command = around,
                 .options = command.restarts,
                 .stop_signal = SIGUSR2});
}

}  // namespace

void add_launch_command(Command app) {
  auto command = std::make_shared<LaunchCommand>();
  const Command launch_app =
      app.add_subcommand("launch", "train under mpirun or srun, and again after a failure");
  launch_app.footer(kFooter);
  launch_app.add_option("--with", command->with, "mpirun or srun, with options of theirs")
      .type_name("COMMAND");
  add_restart_options(launch_app, command->restarts, "");
  launch_app.keep_rest();
  launch_app.on_run([command, launch_app] { launch(*command, launch_app.rest()); });
}

}  // namespace tessera
