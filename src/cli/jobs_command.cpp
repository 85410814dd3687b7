// SPDX-License-Identifier: Apache-2.0
// tessera jobs: one's cluster jobs, waiting, running and ended: how fast they are beside what was
// predicted, and how long they still take.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "files/folder.h"
#include "jobs/job_state.h"
#include "launch/command_output.h"
#include "system/say.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Lists jobs that `tessera launch --sbatch` has submitted: those that Slurm has in its queue, "
    "and\n"
    "those whose runs are in the folders, or up to two levels below them (docs/jobs.md).\n"
    "Examples:\n"
    "  tessera jobs\n"
    "  tessera jobs /scratch/me/runs --json";
constexpr int kDeepest = 2;

struct JobsCommand {
  std::vector<std::string> folders;
  bool json = false;
};

std::vector<QueuedJob> queued_jobs() {
  const CommandOutput told =
      output_of({"squeue", "--me", "--noheader", fmt::format("--format={}", kQueueFormat)});
  if (told.good()) return parse_queue(told.text);
  say(stderr, "Slurm cannot be asked, so states are those that the runs have recorded: {}\n",
      told.text.substr(0, told.text.find('\n')));
  return {};
}

// What cannot be looked at, as in a folder of another user, is no run of a job.
bool has_job_plan(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(job_plan_file(folder), ignored);
}

// A link to a folder is none: it may lead back here.
bool is_real_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(std::filesystem::symlink_status(path, ignored));
}

void find_runs(const std::filesystem::path& folder, int depth,
               std::set<std::filesystem::path>& runs) {
  if (has_job_plan(folder)) {
    runs.insert(std::filesystem::absolute(folder).lexically_normal());
    return;
  }
  if (depth == kDeepest) return;
  for (const std::filesystem::path& each : list_folder(folder)) try {
      if (is_real_folder(each)) find_runs(each, depth + 1, runs);
    } catch (const UserError& error) {  // others' folders may be closed
      say(stderr, "warning: {}\n", error.message());
    }
}

// The one that runs, of an array's elements; else any.
std::map<std::filesystem::path, QueuedJob> by_run(std::vector<QueuedJob> jobs) {
  std::map<std::filesystem::path, QueuedJob> found;
  for (QueuedJob& job : jobs) {
    const std::filesystem::path run = std::filesystem::path(job.run).lexically_normal();
    const auto [place, is_new] = found.try_emplace(run, job);
    if (!is_new && job.state == "running") place->second = std::move(job);
  }
  return found;
}

std::optional<RunRecord> record_of(const std::filesystem::path& run) {
  try {
    return read_run(run);
  } catch (const UserError&) {
    return {};  // no step yet
  }
}

// Nothing, and a warning, where the plan of the job cannot be read: the others are of interest.
std::optional<JobState> state_of(const std::filesystem::path& run, const QueuedJob* queued) {
  try {
    const std::optional<RunRecord> record = record_of(run);
    return job_state(run, read_job_plan(job_plan_file(run)), read_attempts(run),
                     record ? &*record : nullptr, queued, seconds_since_1970());
  } catch (const UserError& error) {
    say(stderr, "warning: {} is left out: {}\n", run.string(), error.message());
    return {};
  }
}

void run(const JobsCommand& command) {
  const std::map<std::filesystem::path, QueuedJob> queued = by_run(queued_jobs());
  std::set<std::filesystem::path> runs;
  std::vector<std::string> folders = command.folders;
  if (folders.empty()) folders = {"out"};
  for (const std::string& folder : folders) {
    if (!std::filesystem::is_directory(folder) && !command.folders.empty())
      throw user_error("there is no folder {}", folder)
          .help("give folders of runs, or folders that hold them");
    find_runs(folder, 0, runs);
  }
  for (const auto& [path, job] : queued)
    if (has_job_plan(path)) runs.insert(path);
  std::vector<JobState> states;
  for (const std::filesystem::path& path : runs) {
    const auto found = queued.find(path);
    if (auto state = state_of(path, found == queued.end() ? nullptr : &found->second))
      states.push_back(std::move(*state));
  }
  const auto is_over = [](const JobState& state) {
    return state.state != "running" && state.state != "pending";
  };
  std::ranges::stable_sort(states, {}, is_over);
  if (command.json) {
    Json json{{"results", Json::array()}};
    for (const JobState& state : states) json["results"].push_back(to_json(state));
    print_json(json);
    return;
  }
  if (states.empty())
    fmt::print("no jobs: none in Slurm's queue, and none in {}\n", fmt::join(folders, ", "));
  else
    fmt::print("{}", job_table(states));
}

}  // namespace

void add_jobs_command(Command app) {
  auto command = std::make_shared<JobsCommand>();
  const Command jobs =
      app.add_subcommand("jobs", "list cluster jobs with their speed and time left");
  jobs.footer(kFooter);
  jobs.add_option("folders", command->folders, "folders to look for runs in; default: out")
      .type_name("FOLDER");
  add_json_flag(jobs, command->json);
  jobs.on_run([command] { run(*command); });
}

}  // namespace tessera
