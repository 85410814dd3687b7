// SPDX-License-Identifier: Apache-2.0
// A search for plans as the command line and the page ask for it: what is planned for, what was
// dropped and why, and what `tessera plan --json` says.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "files/json.h"
#include "planner/search.h"
#include "planner/why_not.h"
#include "sim/unknowns.h"

namespace tessera {

// Knobs of the config that `names` is true of are fixed; the search chooses the others.
PlanTask make_plan_task(const Config& config, const Cluster& cluster, int ranks,
                        const std::function<bool(std::string_view)>& names);

// Why the search found nothing.
UserError no_plan(const PlanTask& task, const SearchResult& found);

struct DroppedPlans {
  std::string_view key, reason;
  int64_t plans;
};
std::vector<DroppedPlans> dropped_by_reason(const SearchResult& found);

// What the figures of the best plan leave out or assume.
std::vector<Unknown> unknowns_of(const PlanTask& task, const SearchResult& found);

Json to_json(const PlanTask& task, const Trial& trial);
Json to_json(const Config& config, const PlanTask& task, const SearchResult& found);
Json to_json(const WhyNot& why);

}  // namespace tessera
