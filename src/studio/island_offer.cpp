// SPDX-License-Identifier: Apache-2.0
#include "studio/island_offer.h"

#include "models/model_size.h"
#include "studio/plan_search.h"
#include "studio/planned_run.h"

namespace tessera {
namespace {

// Of the largest level below the slow one.
int ranks_below(const Cluster& cluster, const Level& slow) {
  int ranks = 1;
  for (const Level& level : cluster.levels) {
    if (level.name == slow.name) break;
    ranks = level.ranks;
  }
  return ranks;
}

}  // namespace

std::optional<IslandOffer> offer_islands(
    const Config& config, const PlanTask& task, const std::function<bool(std::string_view)>& names,
    const std::function<SearchResult(const PlanTask&)>& search_for) {
  const Level* slow = slow_level(task.cluster, task.ranks);
  if (!slow) return std::nullopt;
  const int ranks = ranks_below(task.cluster, *slow), islands = task.ranks / ranks;
  if (islands * ranks != task.ranks || config.train.batch % islands != 0) return std::nullopt;
  Config one = config;
  one.train.batch /= islands;
  PlanTask own = make_plan_task(one, task.cluster, ranks, names);
  SearchResult found = search_for(own);
  if (found.ranked.empty()) return std::nullopt;
  const double step_seconds = found.ranked.front().simulation.step_seconds;
  IslandsRow row{.every = kOfferedEvery, .form = streamed_form(IslandWire::Int8, kOfferedEvery)};
  row.times = island_times(task.cluster,
                           {.islands = islands,
                            .ranks = ranks,
                            .parameters = parameter_count(own.run.model),
                            .format = {.wire = row.form.wire},
                            .every = row.every,
                            .fragments = row.form.fragments,
                            .delay = row.form.delay},
                           step_seconds);
  row.tokens_per_second = static_cast<double>(task.run.tokens_per_step()) / row.times.step_seconds;
  return IslandOffer{.islands = islands,
                     .level = *slow,
                     .task = std::move(own),
                     .trial = std::move(found.ranked.front()),
                     .row = row};
}

std::string to_text(const IslandOffer& offer, double synchronous) {
  const IslandsRow& row = offer.row;
  return fmt::format(
      "islands: the level {} gives a rank {:.3g} GB/s, so ranks may meet there rarely\n"
      "       island={} of {} each, exchanged every {} steps, {} in {} fragments with a delay of "
      "{}:\n"
      "       {:.0f} tokens/s, {:.2f} x the best plan above\n"
      "       This is not the same maths as synchronous training: each island takes {} steps on "
      "weights of its own\n"
      "       before they are combined. Compare held-out losses first (docs/islands.md)\n",
      offer.level.name, offer.level.rate() / 1e9, offer.islands, to_string(offer.trial.candidate),
      row.every, name(row.form.wire), row.form.fragments, row.form.delay, row.tokens_per_second,
      row.tokens_per_second / synchronous, row.every);
}

Json to_json(const IslandOffer& offer) {
  const IslandsRow& row = offer.row;
  return {{"islands", offer.islands},
          {"level", offer.level.name},
          {"plan", to_string(offer.trial.candidate)},
          {"every", row.every},
          {"wire", name(row.form.wire)},
          {"fragments", row.form.fragments},
          {"delay", row.form.delay},
          {"transfer_seconds", row.times.transfer_seconds},
          {"exposed_seconds", row.times.exposed_seconds},
          {"tokens_per_second", row.tokens_per_second},
          {"same_maths_as_synchronous", false}};
}

Config planned_config(const Config& config, const IslandOffer& offer) {
  Config planned = planned_config(config, offer.task, offer.trial);
  planned.mesh.insert(planned.mesh.begin(), Axis{.name = "island", .size = offer.islands});
  planned.islands.every = offer.row.every;
  planned.islands.wire = offer.row.form.wire;
  planned.islands.fragments = offer.row.form.fragments;
  planned.islands.delay = offer.row.form.delay;
  return planned;
}

}  // namespace tessera
