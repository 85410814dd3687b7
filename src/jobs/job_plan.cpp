// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_plan.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "core/error.h"
#include "files/atomic_file.h"
#include "files/folder.h"
#include "files/json.h"

namespace tessera {
namespace {

constexpr int kDeepest = 8;

// One row per member, so that what is written is what is read.
template <typename Struct, typename T>
struct Member {
  const char* name;
  T Struct::*value;
};
constexpr Member<PlannedNodes, int> kNodeCounts[] = {{"nodes", &PlannedNodes::nodes},
                                                     {"ranks", &PlannedNodes::ranks}};
constexpr Member<PlannedNodes, double> kNodeFigures[] = {
    {"step_seconds", &PlannedNodes::step_seconds},
    {"run_seconds", &PlannedNodes::run_seconds},
    {"long_run_seconds", &PlannedNodes::long_run_seconds},
    {"goodput", &PlannedNodes::goodput}};
constexpr Member<PlannedNodes, std::string> kNodeTexts[] = {{"mesh", &PlannedNodes::mesh},
                                                            {"plan", &PlannedNodes::plan},
                                                            {"problem", &PlannedNodes::problem}};
constexpr Member<JobPlan, int> kCounts[] = {{"node_ranks", &JobPlan::node_ranks},
                                            {"rank_cpus", &JobPlan::rank_cpus},
                                            {"min_nodes", &JobPlan::min_nodes},
                                            {"max_nodes", &JobPlan::max_nodes},
                                            {"attempts", &JobPlan::attempts}};
constexpr Member<JobPlan, int64_t> kLargeCounts[] = {
    {"steps", &JobPlan::steps}, {"tokens_per_step", &JobPlan::tokens_per_step}};
constexpr Member<JobPlan, double> kFigures[] = {{"grace_seconds", &JobPlan::grace_seconds},
                                                {"limit_seconds", &JobPlan::limit_seconds}};
constexpr Member<JobPlan, std::string> kTexts[] = {{"run_id", &JobPlan::run_id},
                                                   {"cluster", &JobPlan::cluster}};

template <typename Struct, typename T, size_t N>
void put(Json& json, const Struct& from, const Member<Struct, T> (&members)[N]) {
  for (const auto& [name, value] : members) json[name] = from.*value;
}

UserError not_ours(const std::string& what) {
  return user_error("the plan of the job has no {} that can be read", what)
      .help("submit the job again: tessera launch --sbatch writes it");
}

const Json& member(const Json& json, const char* name) {
  const Json* found = json.find(name);
  if (found == nullptr) throw not_ours(name);
  return *found;
}

template <typename T>
T read_value(const Json& json, const char* name) {
  const Json& found = member(json, name);
  if constexpr (std::is_same_v<T, std::string>) {
    if (found.text()) return *found.text();
  } else if constexpr (std::is_same_v<T, double>) {
    if (found.number()) return *found.number();
  } else {
    if (found.integer()) return static_cast<T>(*found.integer());
  }
  throw not_ours(name);
}

template <typename Struct, typename T, size_t N>
void take(const Json& json, Struct& to, const Member<Struct, T> (&members)[N]) {
  for (const auto& [name, value] : members) to.*value = read_value<T>(json, name);
}

Json to_json(const PlannedNodes& row) {
  Json json = Json::object(), settings = Json::object();
  put(json, row, kNodeCounts);
  put(json, row, kNodeTexts);
  put(json, row, kNodeFigures);
  json["save_every"] = row.save_every;
  for (const auto& [key, value] : row.settings) settings[key] = value;
  json["settings"] = settings;
  return json;
}

PlannedNodes row_of(const Json& json) {
  PlannedNodes row;
  take(json, row, kNodeCounts);
  take(json, row, kNodeTexts);
  take(json, row, kNodeFigures);
  row.save_every = read_value<int64_t>(json, "save_every");
  const Json& settings = member(json, "settings");
  if (!settings.is_object()) throw not_ours("settings");
  for (const auto& [key, value] : settings.members()) {
    if (!value.text()) throw not_ours(key.c_str());
    row.settings.emplace_back(key, *value.text());
  }
  return row;
}

JobPlan plan_of(const Json& json) {
  JobPlan plan;
  take(json, plan, kTexts);
  take(json, plan, kLargeCounts);
  take(json, plan, kCounts);
  take(json, plan, kFigures);
  for (const Json& row : member(json, "curve").items()) plan.curve.push_back(row_of(row));
  return plan;
}

}  // namespace

const PlannedNodes& JobPlan::plan_for(int nodes) const {
  const PlannedNodes* best = nullptr;
  for (const PlannedNodes& row : curve)
    if (row.fits() && row.nodes <= nodes && (!best || row.step_seconds < best->step_seconds))
      best = &row;
  if (best == nullptr)
    throw user_error("the job has no plan for {} node{}", nodes, nodes == 1 ? "" : "s")
        .help(fmt::format("it was planned for {} to {}: submit it again for fewer", min_nodes,
                          max_nodes));
  return *best;
}

std::filesystem::path job_plan_file(const std::filesystem::path& run) {
  return run / kJobFolder / "plan.json";
}

void write_job_plan(const std::filesystem::path& file, const JobPlan& plan) {
  Json json = Json::object(), curve = Json::array();
  put(json, plan, kTexts);
  put(json, plan, kLargeCounts);
  put(json, plan, kCounts);
  put(json, plan, kFigures);
  for (const PlannedNodes& row : plan.curve) curve.push_back(to_json(row));
  json["curve"] = curve;
  make_folder(file.parent_path());
  write_file_atomically(file, json.dump(2) + "\n");
}

JobPlan read_job_plan(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream)
    throw user_error("there is no plan of a job at {}", file.string())
        .help("submit the job with tessera launch --sbatch, which writes it");
  std::ostringstream text;
  text << stream.rdbuf();
  Json json;
  const std::string problem = parse_json(text.str(), kDeepest, json);
  try {
    if (!problem.empty()) throw user_error("the plan of the job {}", problem);
    return plan_of(json);
  } catch (UserError& error) {
    throw std::move(error).at(file.string());
  }
}

}  // namespace tessera
