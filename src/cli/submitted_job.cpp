// SPDX-License-Identifier: Apache-2.0
#include "cli/submitted_job.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "checkpoint/run_identity.h"
#include "cli/cluster_option.h"
#include "cli/supervised_run.h"
#include "cli/whole_run_options.h"
#include "config/run_spec.h"
#include "core/error.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "jobs/job_script.h"
#include "jobs/slurm_text.h"
#include "jobs/speed_curve.h"
#include "launch/command_output.h"
#include "record/run_folder.h"
#include "studio/plan_search.h"
#include "studio/run_on_cluster.h"
#include "studio/simulated_step.h"
#include "system/random_name.h"
#include "system/say.h"
#include "system/shell_words.h"

namespace tessera {
namespace {

constexpr int kMostInNode = 8, kRunsToSimulate = 50;
constexpr size_t kTrials = 300;
// Options of launch that the script does not repeat, and whether they take a value.
constexpr std::pair<std::string_view, bool> kOwnOptions[] = {
    {"--sbatch", false}, {"--dry-run", false},       {"--cluster", true},
    {"--nodes", true},   {"--grace", true},          {"--limit", true},
    {"--name", true},    {"--sbatch-options", true}, {"--node-ranks", true}};

// What the run is, and what it is planned for.
struct Submission {
  const JobOptions& options;
  Cluster cluster;
  Config config;
  PlanTask task;
  WholeRunTask whole;
  int node_ranks = 1;
  bool on_gpus = false;
  RunOptions::Keys defaults = {};  // of the cluster, that the words do not say
  JobPlan plan = {};
};

// Without those options of `own` and their values.
std::vector<std::string> without_options(const std::vector<std::string>& words,
                                         std::span<const std::pair<std::string_view, bool>> own) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    const auto found = std::ranges::find(own, name, &std::pair<std::string_view, bool>::first);
    if (found == own.end())
      kept.push_back(words[i]);
    else if (found->second && name == words[i])
      ++i;  // its value
  }
  return kept;
}

// Those after the program's name.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.erase(words.begin());
  return words;
}

// Those between `launch` and `train` that the script repeats: --with, --restarts and the like.
std::vector<std::string> launch_words() {
  std::vector<std::string> words = own_words();
  words.erase(words.begin(), std::ranges::find(words, "launch") + 1);
  words.erase(std::ranges::find(words, "train"), words.end());
  return without_options(words, kOwnOptions);
}

int ranks_of_node(const JobOptions& options, const Cluster& cluster, const Config& config) {
  if (options.node_ranks > 0) return options.node_ranks;
  // Ranks that share a machine's cores are on that one machine.
  if (cluster.device.cores > 0)
    return config.mesh.empty() ? cluster.device.cores : Mesh(config.mesh).num_ranks();
  return std::min(cluster.levels.front().ranks, kMostInNode);
}

WholeRunTask whole_run_of(const Config& config, const PlanTask& task, int node_ranks) {
  WholeRunOptions options;
  options.tokens = fmt::format("{}", config.train.steps * task.run.tokens_per_step());
  options.conditions.resize(condition_rows().size());
  options.node_ranks = node_ranks;
  options.runs = kRunsToSimulate;
  options.spare_nodes = 0;  // Slurm finds another node
  return options.task(task.cluster, config.train.seed);
}

// The plan that was given, for the number of nodes that it is for.
PlannedNodes given_plan(const Submission& job, int nodes) {
  PlannedNodes row{.nodes = nodes, .ranks = Mesh(job.config.mesh).num_ranks()};
  row.mesh = row.ranks > 1 ? to_string(Mesh(job.config.mesh)) : "dp=1";
  row.plan = row.mesh + ", as given";
  const SimulatedStep step =
      simulate_step(job.config, job.cluster, spec_to_simulate(job.cluster, job.config), {});
  row.step_seconds = step.simulation.step_seconds;
  add_whole_run(job.whole, static_cast<double>(job.task.run.tokens_per_step()), row);
  return row;
}

PlannedNodes planned(const Submission& job, int nodes) {
  say(stderr, "planning for {} node{} of {} rank{}\n", nodes, nodes == 1 ? "" : "s", job.node_ranks,
      job.node_ranks == 1 ? "" : "s");
  const bool is_given =
      !job.config.mesh.empty() && Mesh(job.config.mesh).num_ranks() == nodes * job.node_ranks;
  if (is_given) return given_plan(job, nodes);
  return plan_nodes(job.task, job.whole, nodes, job.node_ranks,
                    [](const PlanTask& task) { return search(task, {.most_trials = kTrials}); });
}

// Of the nodes that were asked for, or, of a given mesh, of those that it fills.
std::optional<NodeRange> asked_nodes(const Submission& job) {
  if (!job.options.nodes.empty())
    return parse_node_range(job.options.nodes, "--nodes " + job.options.nodes);
  if (job.config.mesh.empty()) return {};
  const int ranks = Mesh(job.config.mesh).num_ranks();
  if (ranks % job.node_ranks != 0)
    throw user_error("mesh {} has {} ranks, which do not fill nodes of {}",
                     to_string(Mesh(job.config.mesh)), ranks, job.node_ranks)
        .help(
            "give --node-ranks, or leave out the mesh: then one is found for each number of nodes");
  return NodeRange{ranks / job.node_ranks, ranks / job.node_ranks};
}

// The partition of the job; nothing where Slurm does not say.
std::optional<Partition> partition_of(const std::vector<std::string>& more) {
  std::string name;
  if (const char* usual = std::getenv("SBATCH_PARTITION")) name = usual;
  for (size_t i = 0; i < more.size(); ++i) {
    if (more[i].starts_with("--partition=")) name = more[i].substr(more[i].find('=') + 1);
    if ((more[i] == "-p" || more[i] == "--partition") && i + 1 < more.size()) name = more[i + 1];
  }
  const CommandOutput told = output_of({"scontrol", "show", "partition", "--oneliner"});
  if (!told.good()) return {};
  for (const Partition& each : parse_partitions(told.text))
    if (name.empty() ? each.is_default : each.name == name) return each;
  return {};
}

void warn_of_grace(const std::optional<Partition>& partition, double grace_seconds) {
  if (!partition || !partition->requeues || partition->grace_seconds >= grace_seconds) return;
  say(stderr,
      "warning: partition {} gives preempted jobs {} (GraceTime), but a step and a save may take "
      "{}: what is not saved by then is repeated\n",
      partition->name, short_duration(partition->grace_seconds), short_duration(grace_seconds));
}

void choose_times(Submission& job, const std::optional<Partition>& partition) {
  const JobOptions& options = job.options;
  const RunConditions& conditions = job.whole.conditions;
  JobTimeOptions times{.start_seconds = conditions.restart_seconds,
                       .save_seconds = conditions.stall_seconds + conditions.write_seconds};
  if (!options.grace.empty())
    times.grace_seconds = parse_duration(options.grace, "--grace " + options.grace);
  if (!options.limit.empty())
    times.longest_seconds = parse_duration(options.limit, "--limit " + options.limit);
  else if (partition)
    times.longest_seconds = partition->longest_seconds;
  const JobTimes chosen = job_times(job.plan.plan_for(job.plan.min_nodes), times);
  job.plan.grace_seconds = chosen.grace_seconds;
  job.plan.limit_seconds = chosen.limit_seconds;
  job.plan.attempts = chosen.attempts;
  warn_of_grace(partition, chosen.grace_seconds);
}

// Refuses a folder that holds another run, as `train` does.
std::string run_id_for(const TrainOptions& train, const Config& config) {
  const std::filesystem::path out = config.run.out;
  if (!train.resume) {
    find_old_run({.out = out, .overwrite = train.overwrite});
    return random_name();
  }
  require_checkpoints(out, /*run_id=*/"");
  const std::optional<RunIdentity> identity = read_run_identity(out);
  return identity ? identity->id : random_name();
}

// A config file says all; without one the cluster decides what the words do not.
void choose_device(const RunOptions& run, Submission& job) {
  const bool said = run.file || run.names("run.device");
  job.on_gpus =
      job.cluster.device.cores == 0 && (!said || job.config.run.device == DeviceKind::Cuda);
  if (run.file) return;
  for (const auto& setting : defaults_on(job.cluster))
    if (!run.names(setting.first)) job.defaults.push_back(setting);
  if (job.on_gpus && !said) job.defaults.emplace_back("run.device", "cuda");
}

// As a user would call it: by its name where that is this program.
std::string own_name() {
  const std::string path = own_path();
  const std::optional<std::filesystem::path> found = find_program("tessera");
  std::error_code none;
  return found && std::filesystem::equivalent(*found, path, none) ? "tessera" : path;
}

std::string script_of(const Submission& job, const std::vector<std::string>& words,
                      const std::vector<std::string>& more) {
  constexpr std::pair<std::string_view, bool> kMesh[] = {{"--mesh", true}};
  const std::filesystem::path out = job.config.run.out;
  std::vector<std::string> command{own_name(), "launch"};
  const std::vector<std::string> repeated = launch_words();
  command.insert(command.end(), repeated.begin(), repeated.end());
  command.insert(command.end(), {"--job", job_plan_file(out).string(), "train"});
  const std::vector<std::string> train = without_options(words, kMesh);
  command.insert(command.end(), train.begin(), train.end());
  for (const auto& [key, value] : job.defaults)
    command.insert(command.end(), {"--set", fmt::format("{}={}", key, value)});
  std::vector<std::string> written_by = own_words();
  std::erase(written_by, "--dry-run");
  written_by.insert(written_by.begin(), own_name());
  return job_script(job.plan,
                    {.name = job.options.name.empty() ? preset_name(job.config) : job.options.name,
                     .output = (out / kJobFolder / "output.txt").string(),
                     .gpus_per_node = job.on_gpus ? job.node_ranks : 0,
                     .more = more,
                     .written_by = written_by,
                     .command = command});
}

void print_choices(const JobPlan& plan) {
  const PlannedNodes &most = plan.plan_for(plan.max_nodes), &least = plan.plan_for(plan.min_nodes);
  fmt::print("{} to {} nodes of {} rank{}: {} on {}, {} on {}; attempts of at most {}{}\n",
             plan.min_nodes, plan.max_nodes, plan.node_ranks, plan.node_ranks == 1 ? "" : "s",
             short_duration(most.run_seconds), most.nodes, short_duration(least.run_seconds),
             least.nodes, short_duration(plan.limit_seconds),
             plan.attempts > 1 ? fmt::format(", {} of them", plan.attempts) : "");
}

void submit(const Submission& job, const std::string& script) {
  const std::filesystem::path out = job.config.run.out;
  const std::filesystem::path file = out / kJobFolder / "job.sbatch";
  write_job_plan(job_plan_file(out), job.plan);
  write_file_atomically(file, script);
  print_choices(job.plan);
  const std::string comment =
      fmt::format("{}{}", kJobComment, std::filesystem::absolute(out).string());
  const CommandOutput told = output_of({"sbatch", "--comment=" + comment, file.string()});
  if (!told.good())
    throw user_error("sbatch did not take the job: {}",
                     told.text.substr(0, told.text.find_last_not_of('\n') + 1))
        .at(file.string())
        .help(
            "options of your cluster go into --sbatch-options \"--account=NAME --partition=NAME\"");
  fmt::print("{}wrote {}; see how it stands with: tessera jobs\n", told.text, file.string());
}

}  // namespace

void add_job_options(Command launch, JobOptions& options) {
  const Option sbatch =
      launch.add_flag("--sbatch", options.asked,
                      "write a Slurm job that trains on as many nodes as pay, and submit it");
  launch
      .add_flag("--dry-run", options.dry_run,
                "with --sbatch: print the script, write and submit nothing")
      .needs(sbatch);
  add_cluster_option(launch, options.cluster);
  launch
      .add_option("--nodes", options.nodes,
                  "with --sbatch: nodes to ask for; default: up to where more stop paying, from a "
                  "quarter of that")
      .type_name("MIN-MAX")
      .needs(sbatch);
  launch
      .add_option(
          "--node-ranks", options.node_ranks,
          "with --sbatch: ranks of a node; default: those of the cluster's innermost level, "
          "at most 8")
      .range(1, 1 << 16)
      .type_name("N")
      .needs(sbatch);
  launch
      .add_option("--grace", options.grace,
                  "with --sbatch: time from the warning to the end; default: for two steps and two "
                  "saves")
      .type_name("TIME")
      .needs(sbatch);
  launch
      .add_option("--limit", options.limit,
                  "with --sbatch: the longest attempt; default: what the partition allows")
      .type_name("TIME")
      .needs(sbatch);
  launch.add_option("--name", options.name, "with --sbatch: of the job; default: the model's")
      .type_name("NAME")
      .needs(sbatch);
  launch
      .add_option("--sbatch-options", options.more,
                  "with --sbatch: further options of sbatch, such as \"--account=me -p long\"")
      .type_name("WORDS")
      .needs(sbatch);
}

void submit_job(const JobOptions& options, const TrainOptions& train,
                const std::vector<std::string>& words) {
  if (!options.dry_run && !find_program("sbatch"))
    throw UserError("cannot find the program sbatch to submit the job")
        .help("run this where jobs are submitted, or print the script with --dry-run");
  RunOptions run = train.run;
  const Cluster cluster = chosen_cluster(options.cluster, 1);
  default_to_precision_of(cluster, run);
  const Config config = run.load();
  const int node_ranks = ranks_of_node(options, cluster, config);
  const PlanTask task = make_plan_task(config, cluster, node_ranks,
                                       [&](std::string_view key) { return run.names(key); });
  Submission job{.options = options,
                 .cluster = cluster,
                 .config = config,
                 .task = task,
                 .whole = whole_run_of(config, task, node_ranks),
                 .node_ranks = node_ranks};
  choose_device(run, job);
  const std::string run_id = run_id_for(train, config);
  const std::vector<std::string> more = shell_words(options.more, "--sbatch-options");
  const int most_nodes =
      cluster.device.cores > 0 ? 1 : std::max(1, cluster.levels.back().ranks / node_ranks);
  const SpeedCurve curve =
      speed_curve(asked_nodes(job), most_nodes, [&](int nodes) { return planned(job, nodes); });
  job.plan = {.run_id = run_id,
              .cluster = cluster.name,
              .steps = config.train.steps,
              .tokens_per_step = task.run.tokens_per_step(),
              .node_ranks = node_ranks,
              .rank_cpus = cluster.device.cores > 0 ? task.threads_per_rank()
                                                    : std::max<int>(1, config.train.threads),
              .min_nodes = curve.range.least,
              .max_nodes = curve.range.most,
              .curve = curve.rows};
  choose_times(job, options.dry_run ? std::nullopt : partition_of(more));
  const std::string script = script_of(job, words, more);
  if (options.dry_run)
    fmt::print("{}", script);
  else
    submit(job, script);
}

}  // namespace tessera
