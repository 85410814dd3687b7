// SPDX-License-Identifier: Apache-2.0
// Islands where a cluster has a slow level: one island for each unit below it, and the best plan
// within one. An offer beside the plans that a search ranks, because it is other maths.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "planner/search.h"
#include "studio/simulated_islands.h"

namespace tessera {

struct IslandOffer {
  int islands = 0;
  Level level = {};  // the slow one
  PlanTask task;     // of one island
  Trial trial;       // its best plan
  IslandsRow row = {};
};

// Steps between exchanges that an offer has: DiLoCo's paper (Douillard et al., 2023) loses little
// up to 500, and nothing that it could measure at 100.
inline constexpr int64_t kOfferedEvery = 100;

// Nothing where no level is slow, or ranks or samples do not divide. `search_for` finds plans.
std::optional<IslandOffer> offer_islands(
    const Config& config, const PlanTask& task, const std::function<bool(std::string_view)>& names,
    const std::function<SearchResult(const PlanTask&)>& search_for);

// `synchronous`: tokens per second of the best plan without islands.
std::string to_text(const IslandOffer& offer, double synchronous);
Json to_json(const IslandOffer& offer);

// The given config, with the offer's plan and islands.
Config planned_config(const Config& config, const IslandOffer& offer);

}  // namespace tessera
