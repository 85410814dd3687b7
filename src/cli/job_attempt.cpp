// SPDX-License-Identifier: Apache-2.0
#include "cli/job_attempt.h"

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/run_identity.h"
#include "config/run_spec.h"
#include "core/error.h"
#include "jobs/attempt_log.h"
#include "jobs/job_plan.h"
#include "launch/command_output.h"
#include "system/say.h"
#include "system/stop_signal.h"

namespace tessera {
namespace {

std::string environment(const char* name) {
  const char* found = std::getenv(name);
  return found ? found : "";
}

int number_in(const char* name) {
  const std::string text = environment(name);
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// That this run has saved; -1: none.
int64_t newest_step(const std::filesystem::path& out, const std::string& run_id) {
  const std::optional<RunIdentity> identity = read_run_identity(out);
  if (!identity || identity->id != run_id) return -1;
  const std::vector<StepFolder> folders = step_folders(checkpoints_of(out));
  for (size_t i = folders.size(); i-- > 0;) {
    try {
      if (identity->may_continue_from(read_manifest(folders[i].path).facts)) return folders[i].step;
    } catch (const UserError&) {
      // Not a whole one: the run says what is wrong with it.
    }
  }
  return -1;
}

// As they were given, but for the plan and for what an earlier attempt has done.
std::vector<std::string> words_of(const AttemptOptions& attempt, const JobPlan& plan,
                                  const PlannedNodes& row, bool saves) {
  std::vector<std::string> words = attempt.words;
  const std::filesystem::path out = attempt.options.run.load().run.out;
  const std::optional<RunIdentity> identity = read_run_identity(out);
  if (identity && identity->id == plan.run_id) {
    std::erase(words, "--resume");
    std::erase(words, "--overwrite");
    if (newest_step(out, plan.run_id) >= 0) words.emplace_back("--resume");
  }
  words.insert(words.end(), {"--mesh", row.mesh});
  for (const auto& [key, value] : row.settings)
    words.insert(words.end(), {"--set", fmt::format("{}={}", key, value)});
  if (!saves) words.insert(words.end(), {"--save-every", fmt::format("{}", row.save_every)});
  return words;
}

Config config_of(const std::vector<std::string>& words) {
  TrainOptions options;
  CommandLine line("tessera train", "train a model");
  add_train_options(line.root(), options);
  line.run(words);
  return options.run.load();
}

// Later elements of the job's array are waiting; else the job itself waits again.
void continue_later() {
  const std::string job = environment("SLURM_JOB_ID");
  const int element = number_in("SLURM_ARRAY_TASK_ID");
  if (element > 0 && element < number_in("SLURM_ARRAY_TASK_MAX")) {
    say(stderr, "job {}: stopped; the next attempt of the array continues\n", job);
    return;
  }
  const CommandOutput told = output_of({"scontrol", "requeue", job});
  if (told.good())
    say(stderr, "job {}: stopped, and waits in the queue to continue\n", job);
  else  // It may be in the queue already: Slurm itself requeues a job that it preempts.
    say(stderr, "job {}: stopped; scontrol requeue says: {}", job, told.text);
}

// What is left of the array has nothing to do.
void cancel_rest() {
  const std::string array = environment("SLURM_ARRAY_JOB_ID");
  if (!array.empty()) output_of({"scancel", "--state=PENDING", array});
}

class Attempt {
 public:
  Attempt(const AttemptOptions& options, JobPlan plan, int nodes)
      : options_(options), plan_(std::move(plan)), row_(plan_.plan_for(nodes)) {
    const Config given = options.options.run.load();
    out_ = given.run.out;
    saves_ = given.checkpoint.every > 0;
    log_ = {.job = environment("SLURM_JOB_ID"),
            .nodes = row_.nodes,
            .ranks = row_.ranks,
            .mesh = row_.mesh,
            .step_seconds = row_.step_seconds};
  }

  bool is_complete() const { return newest_step(out_, plan_.run_id) >= plan_.steps; }

  void run() {
    log_.begin = seconds_since_1970();
    log_.first_step = std::max<int64_t>(0, newest_step(out_, plan_.run_id));
    if (!log_begin(out_, log_))
      say(stderr, "warning: cannot write {}\n", attempts_file(out_).string());
    say(stderr, "job {}: step {} of {}, {} node{} with {} rank{}: {}\n", log_.job, log_.first_step,
        plan_.steps, row_.nodes, row_.nodes == 1 ? "" : "s", row_.ranks, row_.ranks == 1 ? "" : "s",
        row_.plan);
    try {
      train();
    } catch (const ExitStatus& end) {
      log_.code = end.status();
    }
    finish();
  }

 private:
  static constexpr int kSignal = 128;  // beyond it, exit codes are of signals

  void train() {
    std::vector<std::string> words = words_of(options_, plan_, row_, saves_);
    supervise_run({.config = config_of(words),
                   .words = words,
                   .launcher = options_.launcher,
                   .command =
                       [this](std::vector<std::string> launcher, int ranks,
                              const std::vector<std::string>& train) {
                         return around(std::move(launcher), ranks, train);
                       },
                   .options = options_.restarts,
                   .stop_signal = SIGUSR2,
                   .run_id = plan_.run_id});
  }

  std::vector<std::string> around(std::vector<std::string> all, int ranks,
                                  const std::vector<std::string>& train) const {
    const int nodes = (ranks + plan_.node_ranks - 1) / plan_.node_ranks;
    if (all.front().ends_with("srun"))
      all.insert(all.end(), {"--kill-on-bad-exit=1", fmt::format("--nodes={}", nodes),
                             fmt::format("--ntasks={}", ranks),
                             fmt::format("--cpus-per-task={}", plan_.rank_cpus)});
    else
      all.insert(all.end(), {"-np", fmt::format("{}", ranks)});
    all.insert(all.end(), {own_path(), "train"});
    all.insert(all.end(), train.begin(), train.end());
    return all;
  }

  void finish() {
    log_.end = seconds_since_1970();
    log_.last_step = std::max<int64_t>(0, newest_step(out_, plan_.run_id));
    const bool stopped = log_.code == 0 || log_.code == kStoppedExitStatus || log_.code > kSignal;
    log_.ended = is_complete() ? "complete" : stopped ? "stopped" : "failed";
    log_end(out_, log_);
    if (log_.ended == "complete") return cancel_rest();
    if (stopped) return continue_later();
    throw ExitStatus(log_.code);
  }

  const AttemptOptions& options_;
  JobPlan plan_;
  const PlannedNodes& row_;
  std::filesystem::path out_;
  bool saves_ = false;
  JobAttempt log_;
};

}  // namespace

void run_attempt(const AttemptOptions& options) {
  const int nodes = number_in("SLURM_JOB_NUM_NODES");
  if (nodes == 0)
    throw user_error("this is no job of Slurm: SLURM_JOB_NUM_NODES is not set")
        .at("--job " + options.plan.string())
        .help("submit the job's script with sbatch, or start a run with tessera launch train");
  Attempt attempt(options, read_job_plan(options.plan), nodes);
  if (attempt.is_complete()) {
    say(stderr, "job {}: the run is complete\n", environment("SLURM_JOB_ID"));
    return cancel_rest();
  }
  attempt.run();
}

}  // namespace tessera
