// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/quantities.h"

namespace tessera {
namespace {

constexpr double kMargin = 1.15;           // on the predicted time: a prediction is no promise
constexpr double kLeastGraceSeconds = 60;  // Slurm looks at times once a minute
constexpr double kMostGraceSeconds = 65535;
constexpr int kMostAttempts = 1000;  // MaxArraySize is 1001 unless a cluster says otherwise

std::string directives(const JobPlan& plan, const JobScript& script) {
  std::string text = fmt::format("#SBATCH --job-name={}\n", shell_word(script.name));
  const auto add = [&](const std::string& option) { text += "#SBATCH --" + option + "\n"; };
  add(plan.min_nodes == plan.max_nodes
          ? fmt::format("nodes={}", plan.max_nodes)
          : fmt::format("nodes={}-{}", plan.min_nodes, plan.max_nodes));
  add(fmt::format("mincpus={}", plan.node_ranks * plan.rank_cpus));
  if (script.gpus_per_node > 0) add(fmt::format("gpus-per-node={}", script.gpus_per_node));
  add("time=" + slurm_time(plan.limit_seconds));
  add(fmt::format("signal=B:USR2@{:.0f}", plan.grace_seconds));
  add("requeue");
  add("open-mode=append");
  add("output=" + shell_word(script.output));
  if (plan.attempts > 1) add(fmt::format("array=1-{}%1", plan.attempts));
  for (const std::string& option : script.more) text += "#SBATCH " + shell_word(option) + "\n";
  return text;
}

std::string curve_table(const JobPlan& plan) {
  std::string text = fmt::format(
      "# Predicted for {}; {} steps of {} tokens:\n# {:>5} {:>6} {:>9} {:>9}  plan\n", plan.cluster,
      plan.steps, plan.tokens_per_step, "nodes", "ranks", "step s", "run");
  for (const PlannedNodes& row : plan.curve) {
    if (row.nodes < plan.min_nodes || row.nodes > plan.max_nodes) continue;
    if (row.fits())
      text += fmt::format("# {:>5} {:>6} {:>9.4g} {:>9}  {}\n", row.nodes, row.ranks,
                          row.step_seconds, short_duration(row.run_seconds), row.plan);
    else
      text += fmt::format("# {:>5} {:>6} none: {}\n", row.nodes, row.ranks,
                          row.problem.substr(0, row.problem.find('\n')));
  }
  return text;
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'')
      quoted += "'\\''";
    else
      quoted += letter;
  }
  return quoted + "'";
}

std::string slurm_time(double seconds) {
  const auto minutes = static_cast<int64_t>(std::ceil(seconds / 60));
  const int64_t days = minutes / 1440, hours = minutes / 60 % 24;
  return fmt::format("{}{:02}:{:02}:00", days > 0 ? fmt::format("{}-", days) : "", hours,
                     minutes % 60);
}

JobTimes job_times(const PlannedNodes& slowest, const JobTimeOptions& options) {
  // A step may just have begun, and a save may be under way: then there is another of each.
  const double usual_grace =
      std::max(kLeastGraceSeconds, kMargin * 2 * (slowest.step_seconds + options.save_seconds));
  JobTimes times{.grace_seconds = std::min(kMostGraceSeconds,
                                           std::ceil(options.grace_seconds.value_or(usual_grace)))};
  const double around = options.start_seconds + times.grace_seconds;
  const double wanted = kMargin * slowest.long_run_seconds + around;
  times.limit_seconds = std::ceil(wanted / 60) * 60;
  if (!options.longest_seconds || *options.longest_seconds >= times.limit_seconds) return times;
  times.limit_seconds = std::floor(*options.longest_seconds / 60) * 60;
  const double trains = times.limit_seconds - around;
  if (trains < slowest.step_seconds)
    throw user_error(
        "an attempt of {} is too short: it starts in {}, is warned {} before its end, and a step "
        "takes {}",
        short_duration(times.limit_seconds), short_duration(options.start_seconds),
        short_duration(times.grace_seconds), short_duration(slowest.step_seconds))
        .help("a partition with longer jobs, more nodes, or a shorter --grace");
  const double attempts = std::ceil(kMargin * slowest.long_run_seconds / trains) + 1;
  times.attempts = static_cast<int>(std::min<double>(kMostAttempts, attempts));
  return times;
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string job_script(const JobPlan& plan, const JobScript& script) {
  return fmt::format(
      "#!/bin/bash\n"
      "# Trains on the nodes that it gets, saves when it is warned, and continues when it is "
      "started\n"
      "# again. Written by\n"
      "# {}\n{}\n{}exec {}\n",
      shell_line(script.written_by), directives(plan, script), curve_table(plan),
      shell_line(script.command));
}

}  // namespace tessera
