// SPDX-License-Identifier: Apache-2.0
// tessera plan: finds the mesh, microbatches, recomputation, schedule and zero that train a model
// fastest on a cluster, with the simulator.
#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/cluster_option.h"
#include "cli/commands.h"
#include "cli/planned_run.h"
#include "cli/run_options.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "planner/search.h"
#include "planner/why_not.h"
#include "record/progress.h"
#include "sim/cluster_warnings.h"
#include "studio/run_on_cluster.h"

namespace tessera {
namespace {

constexpr const char* kFooter =
    "Plans are ranked by MFU. Those that a lower bound of their time or memory rules out are\n"
    "not simulated (docs/planner.md). --zero, --microbatches, --recompute and --schedule (of\n"
    "pipelines) fix a knob.\n"
    "Without a config file the precision is bf16 on clusters of GPUs.\n"
    "Examples:\n"
    "  tessera plan --model llama3-8b --ranks 64 --batch 512 --seq 8192 --cluster llama3-h100\n"
    "  tessera plan --model llama3-70b --ranks 512 --batch 512 --seq 8192 --cluster llama3-h100 "
    "\\\n"
    "    --out 70b.toml\n"
    "  tessera simulate 70b.toml --cluster llama3-h100\n"
    "  tessera plan --model llama3-8b --ranks 64 --batch 512 --seq 8192 --cluster llama3-h100 \\\n"
    "    --why-not \"dp=8,tp=8 recompute=block\"\n"
    "  tessera plan --model tiny --ranks 2 --batch 16 --cluster laptop --json";

struct PlanCommand {
  RunOptions run;
  std::string cluster, out;
  std::vector<std::string> why_not;
  int ranks = 0;
  size_t trials = SearchOptions{}.most_trials;
};

Cluster cluster_of(PlanCommand& command) {
  if (command.ranks == 0) command.ranks = Mesh(command.run.load().mesh).num_ranks();
  return chosen_cluster(command.cluster, command.ranks);
}

// Knobs on the command line are fixed; those of a config file are ignored, because the search
// chooses them.
FixedKnobs fixed_knobs(const RunOptions& run, const Config& config, const Plan& plan) {
  FixedKnobs fixed;
  if (run.names("plan.zero") && config.plan.zero != "auto") fixed.zero = resolve_zero(config);
  if (run.names("train.microbatches")) fixed.microbatches = config.train.microbatches;
  if (run.names("plan.recompute")) fixed.recompute = plan.recompute;
  if (!run.names("plan.schedule")) return fixed;
  if (config.plan.schedule == "custom")
    throw user_error(
        "plan.schedule is custom: a search needs a schedule that works for any number of stages")
        .at("--schedule custom")
        .help("use one of those that `tessera schedule --help` lists");
  fixed.schedule = config.plan.schedule;
  return fixed;
}

PlanTask task_of(const PlanCommand& command, const Config& config, const Cluster& cluster) {
  // A mesh in the config counts the ranks; how they are used is what the search is for.
  PlanTask task{.run = resolve_on(cluster, with_mesh(config, {})),
                .ranks = command.ranks,
                .cluster = cluster};
  task.fixed = fixed_knobs(command.run, config, task.run.plan);
  if (task.ranks > task.cluster.levels.back().ranks)
    throw user_error("the plan has {} ranks, but cluster {} has {}", task.ranks, task.cluster.name,
                     task.cluster.levels.back().ranks)
        .at("--ranks")
        .help("use fewer ranks, or a larger cluster");
  return task;
}

SearchResult search_with_progress(const PlanTask& task, size_t trials) {
  using Clock = std::chrono::steady_clock;
  const bool live = is_terminal(stderr);
  const auto between = live ? std::chrono::milliseconds(200) : std::chrono::seconds(2);
  auto shown = Clock::now();
  bool any = false;
  const auto show = [&](const SearchProgress& at) {
    if (Clock::now() - shown < between) return;
    shown = Clock::now();
    any = true;
    const std::string best =
        at.best_mfu > 0 ? fmt::format(", best mfu {}", share_text(at.best_mfu)) : "";
    fmt::print(stderr, "{}{} plans considered, {} simulated{}{}", live ? "\r" : "", at.considered,
               at.simulated, best, live ? " " : "\n");
  };
  SearchResult found = search(task, {.most_trials = trials, .progress = show});
  if (live && any) fmt::print(stderr, "\n");
  return found;
}

UserError no_plan(const PlanTask& task, const SearchResult& found) {
  const Trial* nearest = nullptr;
  for (const Trial& trial : found.dropped)
    if (trial.refused.empty() &&
        (nearest == nullptr || trial.simulation.peak_bytes < nearest->simulation.peak_bytes))
      nearest = &trial;
  if (nearest != nullptr)
    return user_error("no plan for {} ranks fits: {} needs {} per rank, {} too much", task.ranks,
                      to_string(nearest->candidate), short_bytes(nearest->simulation.peak_bytes),
                      short_bytes(nearest->excess_bytes(task)))
        .help("use more ranks, or a smaller model");
  int64_t indivisible = 0;
  for (const auto& [obstacle, count] : found.indivisible) indivisible += count;
  return user_error(
             "no plan for {} rank{}: {} have sizes that do not divide, {} cannot fit in the {} of "
             "a rank",
             task.ranks, task.ranks == 1 ? "" : "s", indivisible, found.too_large,
             short_bytes(static_cast<int64_t>(task.rank_memory_bytes())))
      .help("use other numbers of ranks and samples, preferably powers of two, or a smaller model");
}

struct Dropped {
  std::string_view key, reason;
  int64_t plans;
};

std::vector<Dropped> dropped_by_reason(const SearchResult& found) {
  std::vector<Dropped> rows;
  for (const auto& [obstacle, plans] : found.indivisible)
    rows.push_back({name(obstacle), summary(obstacle), plans});
  const auto refused = std::count_if(found.dropped.begin(), found.dropped.end(),
                                     [](const Trial& trial) { return !trial.refused.empty(); });
  const auto tried = static_cast<int64_t>(found.dropped.size()) - refused;
  rows.push_back({"memory", "do not fit, by a lower bound of their memory", found.too_large});
  rows.push_back({"planned_memory", "do not fit, by the compiled memory plan", tried});
  rows.push_back({"refused", "refused by the compiler", refused});
  rows.push_back({"slower", "slower, by a lower bound of their time", found.too_slow});
  return rows;
}

Json to_json(const PlanTask& task, const Trial& trial) {
  const Candidate& candidate = trial.candidate;
  const Simulation& simulation = trial.simulation;
  return {{"plan", to_string(candidate)},
          {"mesh", to_string(Mesh(candidate.axes.above_one()))},
          {"zero", candidate.zero},
          {"microbatch", candidate.microbatch},
          {"microbatches", candidate.microbatches(task.run.batch())},
          {"recompute", recompute_name(candidate)},
          {"recompute_every", candidate.every},
          {"schedule", candidate.schedule},
          {"chunks", candidate.chunks},
          {"context", name(candidate.context)},
          {"step_seconds", simulation.step_seconds},
          {"mfu", simulation.mfu},
          {"tokens_per_second", tokens_per_second(task, trial)},
          {"days_per_trillion_tokens", days_per_trillion_tokens(task, trial)},
          {"peak_bytes", simulation.peak_bytes},
          {"exposed_communication_seconds", simulation.times.exposed_communication_seconds},
          {"bubble_seconds", simulation.times.bubble_seconds}};
}

Json to_json(const Config& config, const PlanTask& task, const SearchResult& found) {
  Json json{{"model", preset_name(config)},
            {"cluster", task.cluster.name},
            {"calibrated", task.cluster.calibrated},
            {"ranks", task.ranks},
            {"batch", task.run.batch()},
            {"seq", task.run.seq()},
            {"precision", config.train.precision},
            {"simulated", found.ranked.size()},
            {"complete", !found.floor_left_seconds},
            {"dropped", Json::object()},
            {"recipe", found.recipe ? to_json(task, *found.recipe) : Json()},
            {"results", Json::array()},
            {"why_not", Json::array()}};
  for (const Dropped& row : dropped_by_reason(found)) json["dropped"][row.key] = row.plans;
  for (size_t i = 0; i < std::min(kRankedPlans, found.ranked.size()); ++i)
    json["results"].push_back(to_json(task, found.ranked[i]));
  return json;
}

void print_row(const std::string& place, const Trial& trial) {
  const Simulation& simulation = trial.simulation;
  fmt::print("{:>6} {:>9.4g} {:>6} {:>8} {:>9.3g} {:>8.3g}  {}\n", place, simulation.step_seconds,
             share_text(simulation.mfu), short_bytes(simulation.peak_bytes),
             simulation.times.exposed_communication_seconds, simulation.times.bubble_seconds,
             to_string(trial.candidate));
}

void print_recipe(const SearchResult& found) {
  const std::optional<Trial>& recipe = found.recipe;
  if (!recipe) {
    fmt::print("\nrule of thumb: {}\n",
               found.recipe_problem.empty()
                   ? "none of its suggestions fits the memory and the given knobs"
                   : found.recipe_problem);
    return;
  }
  fmt::print("\nrule of thumb:\n");
  print_row("", *recipe);
  const Simulation &best = found.ranked.front().simulation, &rule = recipe->simulation;
  if (rule.step_seconds > best.step_seconds)
    fmt::print("       {}\n", compare_steps(rule, best));
  else
    fmt::print("       as good as the plan found\n");
}

void print_counts(const SearchResult& found) {
  fmt::print("{} plans simulated; dropped:\n", found.ranked.size());
  for (const Dropped& row : dropped_by_reason(found))
    if (row.plans > 0) fmt::print("{:>9}  {}\n", row.plans, row.reason);
  if (found.floor_left_seconds)
    fmt::print("ended by --trials: plans that were not simulated take {:.4g} s or more\n",
               *found.floor_left_seconds);
  fmt::print("\n");
}

void print_result(const Config& config, const PlanTask& task, const SearchResult& found) {
  fmt::print("{}, batch {} x {}, {}: {} ranks on {}\n", model_title(config), task.run.batch(),
             task.run.seq(), config.train.precision, task.ranks, task.cluster.name);
  if (!task.cluster.calibrated)
    fmt::print("cluster {} was never calibrated: its figures are published or assumed\n",
               task.cluster.name);
  print_counts(found);
  fmt::print("{:>6} {:>9} {:>6} {:>8} {:>9} {:>8}  {}\n", "", "step s", "mfu", "memory",
             "exposed s", "bubble s", "plan");
  for (size_t i = 0; i < std::min(kRankedPlans, found.ranked.size()); ++i)
    print_row(fmt::format("{}", i + 1), found.ranked[i]);
  print_recipe(found);
  const Trial& best = found.ranked.front();
  fmt::print("\nthe best plan trains {:.0f} tokens/s{}: 1T tokens take {:.3g} days\n",
             tokens_per_second(task, best), per_device_text(task, best),
             days_per_trillion_tokens(task, best));
}

// Reports mistakes before the search.
void check_questions(const std::vector<std::string>& why_not) {
  for (const std::string& text : why_not) try {
      parse_candidate(text, {});
    } catch (UserError& error) {
      throw std::move(error).at("--why-not " + text);
    }
}

void run(PlanCommand& command) {
  const Cluster cluster = cluster_of(command);
  default_to_precision_of(cluster, command.run);
  const Config config = command.run.load();
  const PlanTask task = task_of(command, config, cluster);
  check_questions(command.why_not);
  print_warnings(unlikely_figures(task.cluster));
  const SearchResult found = search_with_progress(task, command.trials);
  if (found.ranked.empty()) throw no_plan(task, found);
  print_warnings(
      near_axes_across_nodes(task.cluster, Mesh(found.ranked.front().candidate.axes.above_one())));
  std::vector<WhyNot> reasons;
  for (const std::string& text : command.why_not)
    reasons.push_back(why_not(task, found.ranked, text));
  if (!command.out.empty())
    write_file_atomically(command.out, to_toml(planned_config(config, task, found.ranked.front())));
  if (command.run.json) {
    Json json = to_json(config, task, found);
    for (const WhyNot& why : reasons)
      json["why_not"].push_back({{"plan", to_string(why.candidate)}, {"reason", why.reason}});
    print_json(json);
    return;
  }
  print_result(config, task, found);
  for (const WhyNot& why : reasons)
    fmt::print("\nwhy not {}:\n       {}\n", to_string(why.candidate), why.reason);
  if (command.out.empty()) return;
  fmt::print("\nwrote {}; start it with\n", command.out);
  for (const std::string& line : launch_lines(task, command.out)) fmt::print("  {}\n", line);
  if (config.data.path.empty() && config.data.mixture.empty())
    fmt::print("it trains on built-in stories: set data.path in it to your own tokens or text\n");
}

}  // namespace

void add_plan_command(Command app) {
  auto command = std::make_shared<PlanCommand>();
  const Command plan =
      app.add_subcommand("plan", "find the fastest way to train a model on a cluster");
  plan.footer(kFooter);
  add_run_options(plan, command->run);
  add_step_forms(plan, command->run);
  plan.add_option("--ranks", command->ranks, "ranks to use; default: those of the config's mesh")
      .range(1, 1 << 20)
      .type_name("N");
  add_cluster_option(plan, command->cluster);
  plan.add_option("--out", command->out, "write the best plan as a config").type_name("FILE");
  plan.add_option("--why-not", command->why_not,
                  "explain why this plan lost: pp=8,tp=8,zero=1,microbatch=2,recompute=block,"
                  "schedule=zb_h1")
      .type_name("KNOBS")
      .take_all();
  plan.add_option("--trials", command->trials, "maximum number of plans to simulate")
      .range(1, 1 << 20)
      .type_name("N")
      .show_default();
  plan.on_run([command] { run(*command); });
}

}  // namespace tessera
