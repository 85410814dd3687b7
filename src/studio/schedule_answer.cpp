// SPDX-License-Identifier: Apache-2.0
// The question `schedule`: pipeline schedules with their bubbles, activations and actions.
#include <cmath>

#include "schedule/check_schedule.h"
#include "schedule/schedule_kinds.h"
#include "studio/kinds.h"
#include "studio/question_fields.h"
#include "studio/schedule_json.h"

namespace tessera {
namespace {

constexpr int64_t kMostActions = 100'000;

std::vector<std::string> asked_kinds(const Question& question) {
  const auto kinds = find_texts(question.fields, "kinds");
  if (kinds) return *kinds;
  std::vector<std::string> all;
  for (const ScheduleKind& kind : schedule_kinds()) all.emplace_back(kind.name);
  return all;
}

std::vector<double> asked_costs(const Question& question) {
  const Json* found = question.fields.find("costs");
  if (!found) return {1, 1, 1};
  std::vector<double> costs;
  for (const Json& item : found->items()) costs.push_back(item.number().value_or(-1));
  return costs;
}

}  // namespace

int default_chunks(std::string_view kind) {
  const ScheduleKind& row = schedule_kind(kind);
  return row.least_chunks == row.most_chunks ? row.most_chunks : 2;
}

StageCosts stage_costs(const std::vector<double>& costs) {
  bool valid = costs.size() == 3;
  double sum = 0;
  for (const double cost : costs) {
    valid = valid && std::isfinite(cost) && cost >= 0;
    sum += cost;
  }
  if (!valid || !(sum > 0))
    throw user_error("--costs is {}", fmt::join(costs, ","))
        .help(
            "give three numbers of at least 0: forward, input gradient, weight gradient, as in "
            "1,1,1");
  return {costs[0], costs[1], costs[2]};
}

Json to_json(const TimedSchedule& timed, const std::vector<double>& costs) {
  Json json{{"kind", timed.schedule.kind},
            {"stages", timed.schedule.ranks},
            {"chunks", timed.schedule.chunks},
            {"microbatches", timed.schedule.microbatches},
            {"costs", costs},
            {"makespan", timed.timing.makespan},
            {"bubble_of_total", timed.timing.bubble_of_total},
            {"bubble_of_ideal", timed.timing.bubble_of_ideal}};
  for (const RankTiming& rank : timed.timing.ranks)
    json["ranks"].push_back({{"idle", rank.idle},
                             {"span", rank.span},
                             {"peak_activations", rank.peak_activations},
                             {"begin", rank.begin},
                             {"end", rank.end}});
  return json;
}

Json actions_json(const TimedSchedule& timed) {
  Json ranks = Json::array();
  for (const RankTiming& rank : timed.timing.ranks) {
    Json actions = Json::array();
    for (const TimedAction& each : rank.actions)
      actions.push_back(Json::array({std::string(1, letter(each.action.kind)), each.action.stage,
                                     each.action.microbatch, each.begin, each.end}));
    ranks.push_back(std::move(actions));
  }
  return ranks;
}

Answer answer_schedule(const Question& question) {
  require_known_fields(question.fields, {"kinds", "stages", "microbatches", "chunks", "costs"});
  const auto stages = find_whole(question.fields, "stages", {1, 1024}).value_or(4);
  const auto microbatches = find_whole(question.fields, "microbatches", {1, 16384}).value_or(8);
  const auto chunks = find_whole(question.fields, "chunks", {1, 64});
  const std::vector<double> costs = asked_costs(question);
  const std::vector<std::string> kinds = asked_kinds(question);
  const int64_t actions =
      3 * stages * microbatches * chunks.value_or(2) * static_cast<int64_t>(kinds.size());
  if (actions > kMostActions)
    throw user_error("these schedules have up to {} actions, more than {} at once", actions,
                     kMostActions)
        .at("microbatches")
        .help("ask for fewer kinds, stages or microbatches");
  Json schedules = Json::array();
  for (const std::string& kind : kinds) {
    const bool fixed = schedule_kind(kind).least_chunks == schedule_kind(kind).most_chunks;
    Schedule schedule =
        make_schedule(kind, static_cast<int>(stages),
                      fixed || !chunks ? default_chunks(kind) : static_cast<int>(*chunks),
                      static_cast<int>(microbatches));
    check_schedule(schedule);
    ScheduleTiming timing = time_schedule(schedule, stage_costs(costs));
    const TimedSchedule timed{std::move(schedule), std::move(timing)};
    Json json = to_json(timed, costs);
    json["actions"] = actions_json(timed);
    json["rank_of_stage"] = timed.schedule.rank_of_stage;
    json["summary"] = schedule_kind(kind).summary;
    schedules.push_back(std::move(json));
  }
  return {{{"schedules", schedules}}};
}

}  // namespace tessera
