// SPDX-License-Identifier: Apache-2.0
// The questions `search` and `why_not`: the fastest plans for a run's model, batch and cluster, as
// a stream that says how far it is, and why another plan lost.
#include <algorithm>
#include <chrono>

#include "config/config_fields.h"
#include "studio/asked_run.h"
#include "studio/kinds.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"
#include "studio/question_fields.h"

namespace tessera {
namespace {

constexpr auto kBetweenReports = std::chrono::milliseconds(50);
constexpr int64_t kMostTrials = 5000;

// The run without what the search chooses, but for keys that are fixed: as if the command line
// named no more.
struct AskedSearch {
  AskedRun run;
  int ranks = 1;
  PlanTask task = {};
};

bool is_chosen_by_search(std::string_view key) {
  return key == "mesh" || key.starts_with("mesh.") || key.starts_with("plan.") ||
         key == "train.microbatches";
}

AskedSearch asked_search(const Question& question) {
  AskedSearch asked{.run = asked_run(question)};
  const std::vector<std::string> fixed =
      find_texts(question.fields, "fixed").value_or(std::vector<std::string>{});
  for (const std::string& key : fixed)
    if (!is_chosen_by_search(key) || key.starts_with("mesh"))
      throw user_error("{} is no knob that a search can leave as it is", key)
          .at("fixed")
          .help("use plan.zero, plan.recompute, plan.schedule or train.microbatches");
  const int ranks = Mesh(asked.run.config.mesh).num_ranks();
  asked.ranks =
      static_cast<int>(find_whole(question.fields, "ranks", {1, 1 << 20}).value_or(ranks));
  asked.run = asked.run.without([&](std::string_view key) {
    return is_chosen_by_search(key) && std::ranges::count(fixed, key) == 0;
  });
  asked.task = make_plan_task(asked.run.config, asked.run.cluster, asked.ranks,
                              [&](std::string_view key) { return asked.run.names(key); });
  return asked;
}

// What loads a plan into the run of a question: what differs from a config without settings, and
// what a reader of a plan looks for first.
Json settings_of(const PlanTask& task, const Trial& trial) {
  constexpr auto kAlways =
      std::to_array<std::string_view>({"train.microbatches", "plan.zero", "plan.recompute"});
  const Mesh mesh(trial.candidate.axes.above_one());
  Json set{{"mesh", mesh.num_axes() == 0 ? "dp=1" : to_string(mesh)}};
  Config usual;
  const std::vector<ConfigField> fields = config_fields(usual);
  for (const auto& [key, text] : planned_settings(task, trial))
    if (std::ranges::count(kAlways, key) > 0 ||
        field_text(*std::ranges::find(fields, key, &ConfigField::key)) != text)
      set[key] = text;
  return set;
}

Json rows_of(const PlanTask& task, std::span<const Trial> ranked) {
  Json rows = Json::array();
  for (const Trial& trial : ranked.first(std::min(kRankedPlans, ranked.size()))) {
    Json row = to_json(task, trial);
    row["set"] = settings_of(task, trial);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Parts of the stream, not more often than anybody reads them; the best plans so far are part of
// those that have more of them than the one before.
class SearchReports {
 public:
  SearchReports(const Question& question, const PlanTask& task)
      : tell_(question.tell), task_(task) {}

  bool operator()(const SearchProgress& at) {
    const auto now = std::chrono::steady_clock::now();
    if (!tell_ || now - told_ < kBetweenReports) return true;
    told_ = now;
    Json part{{"considered", at.considered},       {"simulated", at.simulated},
              {"fit", at.ranked.size()},           {"best_mfu", at.best_mfu},
              {"floor_seconds", at.floor_seconds}, {"done", false}};
    if (at.ranked.size() > told_plans_) part["results"] = rows_of(task_, at.ranked);
    told_plans_ = at.ranked.size();
    return tell_(part);
  }

 private:
  const std::function<bool(const Json&)>& tell_;
  const PlanTask& task_;
  size_t told_plans_ = 0;
  std::chrono::steady_clock::time_point told_ = {};
};

SearchResult run_search(const Question& question, const AskedSearch& asked) {
  SearchReports reports(question, asked.task);
  const auto trials = find_whole(question.fields, "trials", {1, kMostTrials})
                          .value_or(static_cast<int64_t>(SearchOptions{}.most_trials));
  SearchResult found =
      search(asked.task, {.most_trials = static_cast<size_t>(trials),
                          .progress = [&](const SearchProgress& at) { return reports(at); }});
  if (!found.cancelled && found.ranked.empty()) throw no_plan(asked.task, found);
  return found;
}

WhyNot why_not_plan(const AskedSearch& asked, std::span<const Trial> ranked,
                    const std::string& text) {
  try {
    return why_not(asked.task, ranked, text);
  } catch (UserError& error) {
    throw UserError(error).at("--why-not " + text);
  }
}

// The plans of an earlier answer, so that nothing is searched again.
std::vector<Trial> try_plans(const PlanTask& task, const std::vector<std::string>& plans) {
  std::vector<Attempt> attempts;
  for (const std::string& plan : plans) {
    const Candidate candidate = parse_candidate(plan, {});
    if (const auto why = why_not_divisible(task, candidate))
      throw user_error("{}: {}", plan, why->reason).at("results").help("give plans of a search");
    attempts.push_back({candidate});
  }
  std::vector<Trial> trials = try_candidates(task, attempts, SearchOptions{}.threads);
  std::erase_if(trials, [](const Trial& trial) { return !trial.fits; });
  if (trials.empty())
    throw UserError("none of the results is a plan that fits")
        .at("results")
        .help("give plans of a search, or none, to search first");
  return trials;
}

}  // namespace

Answer answer_search(const Question& question) {
  require_known_fields(question.fields, {"run", "ranks", "trials", "fixed", "why_not"});
  const AskedSearch asked = asked_search(question);
  const auto why = find_texts(question.fields, "why_not").value_or(std::vector<std::string>{});
  for (const std::string& text : why) parse_candidate(text, {});  // mistakes come before the search
  const SearchResult found = run_search(question, asked);
  if (found.cancelled) return {{{"done", true}, {"cancelled", true}}};
  Json json = to_json(asked.run.config, asked.task, found);
  json["recipe_problem"] = found.recipe_problem;
  if (found.recipe) json["recipe"]["set"] = settings_of(asked.task, *found.recipe);
  json["results"] = rows_of(asked.task, found.ranked);
  json["reasons"] = Json::object();
  for (const DroppedPlans& row : dropped_by_reason(found)) json["reasons"][row.key] = row.reason;
  for (const std::string& text : why)
    json["why_not"].push_back(to_json(why_not_plan(asked, found.ranked, text)));
  json["command"] = fmt::format("tessera plan --ranks {}{}", asked.ranks, flags_of(asked.run));
  json["done"] = true;
  return {std::move(json)};
}

Answer answer_why_not(const Question& question) {
  require_known_fields(question.fields, {"run", "ranks", "trials", "fixed", "plan", "results"});
  const AskedSearch asked = asked_search(question);
  const std::optional<std::string> plan = find_text(question.fields, "plan");
  if (!plan)
    throw UserError("the question names no plan")
        .at("plan")
        .help("give knobs, such as dp=8,tp=8 recompute=block");
  parse_candidate(*plan, {});
  std::vector<Trial> ranked;
  if (const auto results = find_texts(question.fields, "results")) {
    ranked = try_plans(asked.task, *results);
  } else {
    SearchResult found = run_search(question, asked);
    if (found.cancelled) return {{{"done", true}, {"cancelled", true}}};
    ranked = std::move(found.ranked);
  }
  const WhyNot why = why_not_plan(asked, ranked, *plan);
  Json json = to_json(why);
  json["best"] = to_string(ranked.front().candidate);
  json["best_seconds"] = ranked.front().simulation.step_seconds;
  json["done"] = true;
  return {std::move(json)};
}

}  // namespace tessera
