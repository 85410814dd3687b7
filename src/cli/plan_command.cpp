// SPDX-License-Identifier: Apache-2.0
// tessera plan: finds the mesh, microbatches, recomputation, schedule and zero that train a model
// fastest on a cluster, with the simulator; with --tokens also what a whole run comes to.
#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/cluster_option.h"
#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/whole_run_answer.h"
#include "config/run_spec.h"
#include "core/quantities.h"
#include "files/atomic_file.h"
#include "files/json.h"
#include "record/progress.h"
#include "sim/cluster_warnings.h"
#include "sim/error_bar.h"
#include "studio/island_offer.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"
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
    "  tessera plan --model tiny --ranks 2 --batch 16 --cluster laptop --json\n"
    "A whole run, with its failures, and where more ranks stop paying (docs/whole_runs.md):\n"
    "  tessera plan --model llama3-8b --ranks 64 --batch 512 --seq 8192 --cluster llama3-h100 \\\n"
    "    --tokens 1T --price 2.5 --compare-ranks 32,128,256 --run-svg ranks.svg\n"
    "  tessera plan --model llama3-405b --ranks 16384 --batch 2048 --seq 8192 \\\n"
    "    --cluster llama3-h100 --tokens 15T --step-seconds 6.5 --sensitivity";

struct PlanCommand {
  RunOptions run;
  std::string cluster, out;
  std::vector<std::string> why_not, also;
  int ranks = 0;
  size_t trials = SearchOptions{}.most_trials;
  WholeRunOptions whole;
  bool islands = false;  // what is written has those that are offered
};

Cluster cluster_of(PlanCommand& command) {
  if (command.ranks == 0) command.ranks = Mesh(command.run.load().mesh).num_ranks();
  return chosen_cluster(command.cluster, command.ranks);
}

SearchResult search_with_progress(const PlanTask& task, size_t trials) {
  using Clock = std::chrono::steady_clock;
  const bool live = is_terminal(stderr);
  const auto between = live ? std::chrono::milliseconds(200) : std::chrono::seconds(2);
  auto shown = Clock::now();
  bool any = false;
  const auto show = [&](const SearchProgress& at) {
    if (Clock::now() - shown < between) return true;
    shown = Clock::now();
    any = true;
    const std::string best =
        at.best_mfu > 0 ? fmt::format(", best mfu {}", share_text(at.best_mfu)) : "";
    fmt::print(stderr, "{}{} plans considered, {} simulated{}{}", live ? "\r" : "", at.considered,
               at.simulated, best, live ? " " : "\n");
    return true;
  };
  SearchResult found = search(task, {.most_trials = trials, .progress = show});
  if (live && any) fmt::print(stderr, "\n");
  return found;
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
  for (const DroppedPlans& row : dropped_by_reason(found))
    if (row.plans > 0) fmt::print("{:>9}  {}\n", row.plans, row.reason);
  if (found.floor_left_seconds)
    fmt::print("ended by --trials: plans that were not simulated take {:.4g} s or more\n",
               *found.floor_left_seconds);
  fmt::print("\n");
}

void print_result(const Config& config, const PlanTask& task, const SearchResult& found) {
  fmt::print("{}, batch {} x {}, {}: {} ranks on {}\n", model_title(config), task.run.batch(),
             task.run.seq(), config.train.precision, task.ranks, task.cluster.name);
  print_trust(task.cluster);
  fmt::print("{}\n", memory_text(task));
  print_counts(found);
  fmt::print("{:>6} {:>9} {:>6} {:>8} {:>9} {:>8}  {}\n", "", "step s", "mfu", "memory",
             "exposed s", "bubble s", "plan");
  for (size_t i = 0; i < std::min(kRankedPlans, found.ranked.size()); ++i)
    print_row(fmt::format("{}", i + 1), found.ranked[i]);
  if (task.cluster.device.cores == 0)
    fmt::print("{}\n",
               error_bar_text(task.cluster, Mesh(found.ranked.front().candidate.axes.above_one())));
  print_unknowns(unknowns_of(task, found));
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

// --step-seconds: nothing is searched.
void run_of_known_step(const PlanCommand& command, const Config& config, const PlanTask& task,
                       WholeRunAnswer& whole) {
  whole.answer(task, command.whole.step_seconds);
  if (command.run.json) {
    Json json = Json::object();
    whole.add_to(json);
    print_json(json);
    return;
  }
  fmt::print("{}, batch {} x {}: {} ranks on {}, steps of {:g} s as given\n", model_title(config),
             task.run.batch(), task.run.seq(), task.ranks, task.cluster.name,
             command.whole.step_seconds);
  whole.print();
}

UserError no_islands(const PlanTask& task) {
  return user_error("no islands can be offered for {} ranks of cluster {}", task.ranks,
                    task.cluster.name)
      .at("--islands")
      .help(
          "islands are for clusters with a slow level, whose units the ranks fill evenly, and a "
          "batch that they share evenly");
}

// The best plan as a config, which saves as often as the whole run wants unless it says how often.
void write_plan(const PlanCommand& command, Config config, const PlanTask& task,
                const SearchResult& found, const std::optional<IslandOffer>& offer,
                const WholeRunAnswer& whole) {
  if (command.islands && !offer) throw no_islands(task);
  if (command.out.empty()) return;
  if (config.checkpoint.every == 0) config.checkpoint.every = whole.save_every().value_or(0);
  write_file_atomically(
      command.out, to_toml(command.islands ? planned_config(config, *offer)
                                           : planned_config(config, task, found.ranked.front())));
}

void run(PlanCommand& command) {
  const Cluster cluster = cluster_of(command);
  default_to_precision_of(cluster, command.run);
  const Config config = command.run.load();
  PlanTask task = make_plan_task(config, cluster, command.ranks,
                                 [&](std::string_view key) { return command.run.names(key); });
  task.tries_fp8 = std::ranges::count(command.also, "fp8") > 0;
  task.tries_rings = std::ranges::count(command.also, "tp_overlap") > 0;
  task.tries_offload = std::ranges::count(command.also, "offload") > 0;
  check_questions(command.why_not);
  WholeRunAnswer whole(command.whole, cluster, config.train.seed);
  if (command.whole.step_seconds > 0) return run_of_known_step(command, config, task, whole);
  print_warnings(unlikely_figures(task.cluster));
  if (command.islands && !slow_level(task.cluster, task.ranks)) throw no_islands(task);
  const SearchResult found = search_with_progress(task, command.trials);
  if (found.ranked.empty()) throw no_plan(task, found);
  print_warnings(
      near_axes_across_nodes(task.cluster, Mesh(found.ranked.front().candidate.axes.above_one())));
  std::vector<WhyNot> reasons;
  for (const std::string& text : command.why_not)
    reasons.push_back(why_not(task, found.ranked, text));
  whole.answer(task, found.ranked.front().simulation.step_seconds);
  whole.compare(task, found,
                [&](const PlanTask& other) { return search_with_progress(other, command.trials); });
  whole.draw(fmt::format("{}, {} tokens, on {}", model_title(config), command.whole.tokens,
                         task.cluster.name));
  const std::optional<IslandOffer> offer = offer_islands(
      config, task, [&](std::string_view key) { return command.run.names(key); },
      [&](const PlanTask& other) { return search_with_progress(other, command.trials); });
  write_plan(command, config, task, found, offer, whole);
  if (command.run.json) {
    Json json = to_json(config, task, found);
    for (const WhyNot& why : reasons) json["why_not"].push_back(to_json(why));
    if (offer) json["islands"] = to_json(*offer);
    whole.add_to(json);
    print_json(json);
    return;
  }
  print_result(config, task, found);
  if (offer) fmt::print("\n{}", to_text(*offer, tokens_per_second(task, found.ranked.front())));
  for (const WhyNot& why : reasons)
    fmt::print("\nwhy not {}:\n       {}\n", to_string(why.candidate), why.reason);
  whole.print();
  if (command.out.empty()) return;
  fmt::print("\nwrote {}; start {} with\n", command.out, command.islands ? "each island" : "it");
  for (const std::string& line : launch_lines(command.islands ? offer->task : task, command.out))
    fmt::print("  {}\n", line);
  if (command.islands)
    fmt::print(
        "each with --set islands.hub=tcp://HUB:PORT, an islands.index of its own, 0 to {}, and "
        "a hub: docs/island_jobs.md\n",
        offer->islands - 1);
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
  plan.add_flag("--islands", command->islands,
                "write the plan with islands that is offered where a level of the cluster is slow");
  plan.add_option("--why-not", command->why_not,
                  "explain why this plan lost: pp=8,tp=8,zero=1,microbatch=2,recompute=block,"
                  "schedule=zb_h1")
      .type_name("KNOBS")
      .take_all();
  plan.add_option(
          "--try", command->also,
          "try more: fp8, which changes numbers; offload to the host, which is tried anyway "
          "where nothing fits without it; tp_overlap, matmuls between which pieces travel")
      .choices({"fp8", "offload", "tp_overlap"})
      .take_all();
  plan.add_option("--trials", command->trials, "maximum number of plans to simulate")
      .range(1, 1 << 20)
      .type_name("N")
      .show_default();
  add_whole_run_options(plan, command->whole);
  plan.on_run([command] { run(*command); });
}

}  // namespace tessera
