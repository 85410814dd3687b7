// SPDX-License-Identifier: Apache-2.0
#include "studio/plan_search.h"

#include <algorithm>

#include "config/config_fields.h"
#include "core/quantities.h"
#include "planner/knobs.h"
#include "studio/planned_run.h"
#include "studio/run_on_cluster.h"
#include "studio/simulated_step.h"

namespace tessera {
namespace {

// Keys whose value leaves the choice to the search are not fixed.
FixedKnobs fixed_knobs(const std::function<bool(std::string_view)>& names, Config config) {
  if (names("plan.schedule") && config.plan.schedule == "custom")
    throw user_error(
        "plan.schedule is custom: a search needs a schedule that works for any number of stages")
        .at("--schedule custom")
        .help("use one of those that `tessera schedule --help` lists");
  FixedKnobs fixed;
  const std::vector<ConfigField> fields = config_fields(config);
  for (const Knob& knob : knobs()) {
    const std::string text = field_text(*std::ranges::find(fields, knob.key, &ConfigField::key));
    const bool is_chosen = text == "auto" || (knob.key == "plan.chunks" && text == "0");
    if (names(knob.key) && !is_chosen && knob.key != "train.precision")
      fixed[std::string(knob.key)] = text;
  }
  if (const auto recompute = fixed.find("plan.recompute");
      recompute != fixed.end() && recompute->second == "every") {
    fixed["plan.recompute_every"] = fmt::format("{}", config.plan.recompute_every);
    if (config.plan.recompute_every == 1) recompute->second = "block";
  }
  return fixed;
}

}  // namespace

PlanTask make_plan_task(const Config& config, const Cluster& cluster, int ranks,
                        const std::function<bool(std::string_view)>& names) {
  if (config.own_model)
    throw user_error("plans are searched for models of a family, and {} is the program's own",
                     model_name(config))
        .help("simulate the meshes that you think of");
  // A mesh in the config counts the ranks; how they are used is what the search is for.
  PlanTask task{
      .run = resolve_on(cluster, with_mesh(config, {})), .ranks = ranks, .cluster = cluster};
  task.fixed = fixed_knobs(names, config);
  if (names("plan.memory") && !config.plan.memory.empty())
    task.memory_bytes = parse_byte_size(config.plan.memory, "plan.memory");
  if (task.ranks > task.cluster.levels.back().ranks)
    throw user_error("the plan has {} ranks, but cluster {} has {}", task.ranks, task.cluster.name,
                     task.cluster.levels.back().ranks)
        .at("--ranks")
        .help("use fewer ranks, or a larger cluster");
  return task;
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

std::vector<DroppedPlans> dropped_by_reason(const SearchResult& found) {
  std::vector<DroppedPlans> rows;
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

std::vector<Unknown> unknowns_of(const PlanTask& task, const SearchResult& found) {
  if (found.ranked.empty()) return {};
  const Trial& best = found.ranked.front();
  const RunSpec run = task.with(best.candidate);
  return unknowns_of({.cluster = task.cluster,
                      .run = run,
                      .options = {},
                      .peak_bytes = best.simulation.peak_bytes});
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
          {"experts", candidate.experts},
          {"dispatch", name(candidate.dispatch)},
          {"tp_overlap", name(candidate.tp_overlap)},
          {"shard_axes", shard_axes_text(candidate, ',')},
          {"offload", find_knob("offload")->setting_of(task, candidate)},
          {"offload_update", find_knob("offload_update")->get(candidate)},
          {"precision", find_knob("precision")->setting_of(task, candidate)},
          {"step_seconds", simulation.step_seconds},
          {"mfu", simulation.mfu},
          {"tokens_per_second", tokens_per_second(task, trial)},
          {"days_per_trillion_tokens", days_per_trillion_tokens(task, trial)},
          {"peak_bytes", simulation.peak_bytes},
          {"host_bytes", simulation.host_bytes},
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
            {"why_not", Json::array()},
            {"unknown", to_json(unknowns_of(task, found))}};
  for (const DroppedPlans& row : dropped_by_reason(found)) json["dropped"][row.key] = row.plans;
  for (size_t i = 0; i < std::min(kRankedPlans, found.ranked.size()); ++i)
    json["results"].push_back(to_json(task, found.ranked[i]));
  return json;
}

Json to_json(const WhyNot& why) {
  return {{"plan", to_string(why.candidate)}, {"reason", why.reason}};
}

}  // namespace tessera
